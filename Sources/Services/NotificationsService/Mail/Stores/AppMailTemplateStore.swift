import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// An app's mail template in one language.
struct AppMailTemplate: Sendable {
    var name: String
    /// In lower case.
    var language: String
    var words: MailContent.Words
}

/// The mail templates of apps, each in any number of languages.
struct AppMailTemplateStore: Sendable {
    /// The limit per space, counting each name and language.
    static let maximumCount = 500
    /// The limit per name, because an order is checked against each language.
    static let maximumLanguages = 50

    let postgres: PostgresClient

    /// Objects `{"name","language","subject","author","updated"}`, ordered by name and language.
    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object('name', name, 'language', language, 'subject', subject, 'author', author,
                'updated', \(PostgresQuery.rfc3339("updated")))::text
            FROM notifications.mail_templates WHERE space = \(space.id) ORDER BY name, language LIMIT \(Self.maximumCount)
            """
        ).map { try $0.decode(0) }
    }

    /// The template in all its languages, ordered by tag.
    func all(_ name: String, in space: Space) async throws -> [AppMailTemplate] {
        try await postgres.query(
            "SELECT \(Self.columns) FROM notifications.mail_templates WHERE space = \(space.id) AND name = \(name) ORDER BY language LIMIT \(Self.maximumCount)"
        ).map(Self.template)
    }

    /// The template in the first available of the languages, otherwise in any. Nil if there is no such template.
    func find(_ name: String, _ languages: [String], in space: Space) async throws -> AppMailTemplate? {
        try await postgres.query(
            """
            SELECT \(Self.columns) FROM notifications.mail_templates WHERE space = \(space.id) AND name = \(name)
            ORDER BY array_position(\(languages), language) NULLS LAST, language LIMIT 1
            """
        ).first.map(Self.template)
    }

    /// - Throws: `limit-exceeded` when there are too many.
    func replace(_ template: AppMailTemplate, by author: Author, in space: Space) async throws {
        let words = template.words
        let isStored =
            try await postgres.execute(
                """
                INSERT INTO notifications.mail_templates (space, name, language, subject, body_text, body_html, author)
                SELECT \(space.id), \(template.name), \(template.language), \(words.subject), \(words.text), \(words.html), \(author.text)
                WHERE (SELECT count(*) FROM notifications.mail_templates WHERE space = \(space.id)
                    AND (name, language) <> (\(template.name), \(template.language))) < \(Self.maximumCount)
                    AND (SELECT count(*) FROM notifications.mail_templates WHERE space = \(space.id)
                        AND name = \(template.name) AND language <> \(template.language)) < \(Self.maximumLanguages)
                ON CONFLICT (space, name, language) DO UPDATE SET
                    subject = excluded.subject, body_text = excluded.body_text, body_html = excluded.body_html, author = excluded.author, updated = now()
                """) > 0
        guard isStored else {
            throw ServiceError(
                .limitExceeded,
                "There may be at most \(Self.maximumCount) templates, each in at most \(Self.maximumLanguages) languages."
            )
        }
    }

    /// - Parameter language: Nil removes all languages.
    /// - Returns: False if there was none.
    func remove(_ name: String, _ language: String?, in space: Space) async throws -> Bool {
        try await postgres.execute(
            """
            DELETE FROM notifications.mail_templates WHERE space = \(space.id) AND name = \(name) AND (\(language)::text IS NULL OR language = \(language))
            """) > 0
    }

    private static let columns: PostgresQuery = "name, language, subject, body_text, body_html"

    private static func template(_ row: PostgresRow) throws -> AppMailTemplate {
        AppMailTemplate(
            name: try row.decode(0), language: try row.decode(1),
            words: MailContent.Words(subject: try row.decode(2), text: try row.decode(3), html: try row.decode(4)))
    }
}
