import MartletAPI
import MartletCore
import MartletPostgres

/// A template as an app's server wrote it.
struct StoredTemplate: Codable, Sendable {
    var kind: String
    var language: String
    var subject: String
    var text: String
    var html: String?
}

struct TemplateName: Codable, Sendable {
    var kind: String
    var language: String
    var subject: String
}

struct MailTemplateStore: Sendable {
    /// The maximum number per app and environment, over all kinds and languages.
    static let maximumCount = 400

    let postgres: PostgresClient

    /// Ordered by kind and language, without the bodies.
    func list(in space: AppSpace) async throws -> [TemplateName] {
        try await postgres.query(
            """
            SELECT kind, language, subject FROM auth.mail_templates WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)
            ORDER BY kind, language LIMIT \(Self.maximumCount)
            """
        ).map { TemplateName(kind: try $0.decode(0), language: try $0.decode(1), subject: try $0.decode(2)) }
    }

    /// The template in the first available of the languages, otherwise in any language; nil if the app has none of this
    /// kind.
    ///
    /// - Parameter isStrict: Whether only the given languages are accepted.
    func find(_ kind: MailKind, _ languages: [String], isStrict: Bool = false, in space: AppSpace) async throws
        -> StoredTemplate?
    {
        try await postgres.query(
            """
            SELECT kind, language, subject, body_text, body_html FROM auth.mail_templates
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND kind = \(kind.rawValue)
                AND (language = ANY (\(languages)) OR NOT \(isStrict))
            ORDER BY array_position(\(languages), language) NULLS LAST, language LIMIT 1
            """
        ).first.map {
            StoredTemplate(
                kind: try $0.decode(0), language: try $0.decode(1), subject: try $0.decode(2), text: try $0.decode(3),
                html: try $0.decode(4))
        }
    }

    /// - Throws: `limit-exceeded` if there are too many.
    func replace(_ template: StoredTemplate, in space: AppSpace) async throws {
        let isStored =
            try await postgres.execute(
                """
                INSERT INTO auth.mail_templates (app_id, environment, kind, language, subject, body_text, body_html)
                SELECT \(space.appID), \(space.environment.rawValue), \(template.kind), \(template.language), \(template.subject), \(template.text),
                    \(template.html)
                WHERE (
                    SELECT count(*) FROM auth.mail_templates AS t
                    WHERE t.app_id = \(space.appID) AND t.environment = \(space.environment.rawValue)
                        AND (t.kind, t.language) <> (\(template.kind), \(template.language))) < \(Self.maximumCount)
                ON CONFLICT (app_id, environment, kind, language) DO UPDATE SET
                    subject = excluded.subject, body_text = excluded.body_text, body_html = excluded.body_html, updated = now()
                """) > 0
        guard isStored else {
            throw ServiceError(.limitExceeded, "There may be at most \(Self.maximumCount) templates.")
        }
    }

    func remove(_ kind: MailKind, _ language: LanguageTag, in space: AppSpace) async throws -> Bool {
        try await postgres.execute(
            """
            DELETE FROM auth.mail_templates WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)
                AND kind = \(kind.rawValue) AND language = \(language.text.lowercased())
            """) > 0
    }
}
