import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

extension MailOrder {
    static let fields: Set<String> = MailContent.fields.union(["to", "users", "topic"])
    /// Two bodies of maximum size, escaped as JSON may be, plus the other fields.
    static let maximumBodySizeInBytes = 768 << 10

    /// Reads `to` (addresses) and `users` (ids), together 1 to 50, `topic`, and the fields of `MailContent`.
    ///
    /// - Throws: `invalid-body` that names the field.
    init(_ fields: BodyFields, author: Author, origin: String?, digest: Data?) throws {
        let addresses = try fields.strings("to", upTo: Self.maximumRecipients) ?? []
        let users = try fields.strings("users", upTo: Self.maximumRecipients) ?? []
        var recipients = try addresses.map { MailRecipient.address(try EmailAddress($0, field: "to")) }
        recipients += try users.map { id in
            guard let id = UUID(uuidString: id) else {
                throw ServiceError(.invalidBody, "Each user id must be a UUID.", field: "users")
            }
            return .user(id.uuidString.lowercased())
        }
        guard (1...Self.maximumRecipients).contains(recipients.count) else {
            throw ServiceError(.invalidBody, "A mail must have 1 to \(Self.maximumRecipients) recipients.", field: "to")
        }
        guard Set(recipients).count == recipients.count else {
            throw ServiceError(.invalidBody, "A recipient is named twice.", field: "to")
        }
        self.init(
            to: recipients, try MailContent(fields),
            topic: try fields.string("topic").map { try MailTopic.checked($0, field: "topic") }, author: author,
            origin: origin)
        originDigest = digest
    }
}

/// A subject that people can unsubscribe from.
enum MailTopic {
    /// Stands for all topics in the list of unsubscribed addresses.
    static let all = "*"

    /// Validates a topic: 1 to 64 characters of `a-z 0-9 . _ -`.
    ///
    /// - Throws: `invalid-body`.
    static func checked(_ text: String, field: String) throws -> String {
        guard text.wholeMatch(of: /[a-z0-9._-]{1,64}/) != nil else {
            throw ServiceError(.invalidBody, "A topic must have 1 to 64 characters of a-z 0-9 . _ -.", field: field)
        }
        return text
    }
}

extension MailContent {
    static let fields: Set<String> = ["template", "subject", "text", "html", "variables", "language", "replyTo"]

    /// Reads `template`, or `subject`, `text` and optionally `html`; then `variables`, `language` and `replyTo`.
    ///
    /// - Throws: `invalid-body` that names the field.
    init(_ fields: BodyFields) throws {
        template = try fields.string("template")
        if template != nil {
            for name in ["subject", "text", "html"] where fields[name] != nil && fields[name] != .null {
                throw ServiceError(.invalidBody, "This is not allowed together with a template.", field: name)
            }
        } else {
            words = Words(
                subject: try fields.requiredString("subject"), text: try fields.requiredString("text"),
                html: try fields.string("html"))
        }
        variables = try Self.variables(fields["variables"])
        language = try fields.string("language").map {
            guard let tag = LanguageTag($0) else {
                throw ServiceError(.invalidBody, "Expected a language tag, such as en or de-AT.", field: "language")
            }
            return tag.text
        }
        replyTo = try fields.string("replyTo").map { try EmailAddress($0, field: "replyTo").text }
    }

    private static func variables(_ value: JSONValue?) throws -> [String: String] {
        let variables = try MessageTemplate.values(value)
        guard let taken = ownValues.first(where: { variables[$0] != nil }) else { return variables }
        throw ServiceError(
            .invalidBody, "These names are reserved: \(ownValues.sorted().joined(separator: ", ")).",
            field: "variables.\(taken)")
    }
}
