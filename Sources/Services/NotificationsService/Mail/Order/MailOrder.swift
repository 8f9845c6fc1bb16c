import Foundation
import MartletHTTP
import MartletMail

/// Mail that is to be sent: the same content to each of some people, each with a mail of their own.
struct MailOrder: Sendable {
    static let maximumRecipients = 50

    var recipients: [MailRecipient]
    var content: MailContent
    /// What people can unsubscribe from; nil: it is about something that they did, such as a receipt, and always sent.
    var topic: String?
    var author: Author
    /// What was ordered with it before is not ordered again.
    var origin: String?
    /// Of the request behind an `Idempotency-Key`: the same key with another one is refused.
    var originDigest: Data?

    init(
        to recipients: [MailRecipient], _ content: MailContent, topic: String? = nil, author: Author,
        origin: String? = nil
    ) {
        self.recipients = recipients
        self.content = content
        self.topic = topic
        self.author = author
        self.origin = origin
    }
}

enum MailRecipient: Sendable, Hashable {
    case address(EmailAddress)
    /// By id; written to at the address that is verified when the mail is written.
    case user(String)
}

/// What a mail says. Lies in the table sealed, as JSON, until the mail has left: keep old shapes readable.
struct MailContent: Codable, Sendable, Equatable {
    /// The values that every mail has, beside its own.
    static let ownValues: Set<String> = ["app", "email", "unsubscribe"]

    /// Texts with places for values, in one language.
    struct Words: Codable, Sendable, Equatable {
        var subject: String
        var text: String
        var html: String?
    }

    /// One of the app's templates, or `words`.
    var template: String?
    var words: Words?
    var variables: [String: String] = [:]
    /// Nil: the user's own.
    var language: String?
    var replyTo: String?

    /// The values that a template of this mail may show without being told them.
    func names(hasTopic: Bool) -> Set<String> {
        let own = hasTopic ? Self.ownValues : Self.ownValues.subtracting(["unsubscribe"])
        return own.union(variables.keys)
    }
}

extension MailContent.Words {
    /// Bytes, of each body.
    static let maximumBodySize = 64 << 10

    /// - Throws: `invalid-body` naming the field.
    var template: MailTemplate {
        get throws {
            try MailTemplate(
                subject: subject, text: text, html: html, names: nil, maximumBodySize: Self.maximumBodySize)
        }
    }
}
