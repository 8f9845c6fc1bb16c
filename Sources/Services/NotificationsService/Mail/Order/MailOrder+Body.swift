import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

extension MailOrder {
    static let fields: Set<String> = MailContent.fields.union(["to", "users", "topic"])
    /// Two bodies of full size, escaped as JSON may be, and the rest.
    static let maximumBodySizeInBytes = 768 << 10

    /// `to` (addresses) and `users` (ids), together 1 to 50; `topic`; and what `MailContent` has.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields, author: Author, origin: String?, digest: Data?) throws {
        let addresses = try fields.strings("to", upTo: Self.maximumRecipients) ?? []
        let users = try fields.strings("users", upTo: Self.maximumRecipients) ?? []
        var recipients = try addresses.map { MailRecipient.address(try EmailAddress($0, field: "to")) }
        recipients += try users.map { id in
            guard let id = UUID(uuidString: id) else {
                throw HTTPProblem(.invalidBody, "This is no user's id.", field: "users")
            }
            return .user(id.uuidString.lowercased())
        }
        guard (1...Self.maximumRecipients).contains(recipients.count) else {
            throw HTTPProblem(.invalidBody, "There are 1 to \(Self.maximumRecipients) recipients.", field: "to")
        }
        guard Set(recipients).count == recipients.count else {
            throw HTTPProblem(.invalidBody, "Somebody is named twice.", field: "to")
        }
        self.init(
            to: recipients, try MailContent(fields),
            topic: try fields.string("topic").map { try MailTopic.checked($0, field: "topic") }, author: author,
            origin: origin)
        originDigest = digest
    }
}

/// What people can unsubscribe from.
enum MailTopic {
    /// Of the list of who has unsubscribed.
    static let all = "*"

    /// 1 to 64 of `a-z 0-9 . _ -`.
    ///
    /// - Throws: `invalid-body`.
    static func checked(_ text: String, field: String) throws -> String {
        guard text.wholeMatch(of: /[a-z0-9._-]{1,64}/) != nil else {
            throw HTTPProblem(.invalidBody, "A topic is 1 to 64 of a-z 0-9 . _ -.", field: field)
        }
        return text
    }
}

extension MailContent {
    static let fields: Set<String> = ["template", "subject", "text", "html", "variables", "language", "replyTo"]

    /// `template`, or `subject`, `text` and if wanted `html`; `variables`, `language` and `replyTo`.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields) throws {
        template = try fields.string("template")
        if template != nil {
            for name in ["subject", "text", "html"] where fields[name] != nil && fields[name] != .null {
                throw HTTPProblem(.invalidBody, "Either a template or texts.", field: name)
            }
        } else {
            words = Words(
                subject: try fields.requiredString("subject"), text: try fields.requiredString("text"),
                html: try fields.string("html"))
        }
        variables = try Self.variables(fields["variables"])
        language = try fields.string("language").map {
            guard let tag = LanguageTag($0) else {
                throw HTTPProblem(.invalidBody, "This is not a language, such as en or de-AT.", field: "language")
            }
            return tag.text
        }
        replyTo = try fields.string("replyTo").map { try EmailAddress($0, field: "replyTo").text }
    }

    private static func variables(_ value: JSONValue?) throws -> [String: String] {
        let variables = try MessageTemplate.values(value)
        guard let taken = ownValues.first(where: { variables[$0] != nil }) else { return variables }
        throw HTTPProblem(
            .invalidBody, "Every mail has \(ownValues.sorted().joined(separator: ", ")) of its own.",
            field: "variables.\(taken)")
    }
}
