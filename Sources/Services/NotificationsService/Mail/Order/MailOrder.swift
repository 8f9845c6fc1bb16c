import Foundation
import MartletHTTP
import MartletMail

/// An order for mail: the same content for several recipients, each of whom gets a separate mail.
struct MailOrder: Sendable {
    static let maximumRecipients = 50

    var recipients: [MailRecipient]
    var content: MailContent
    /// The topic that people can unsubscribe from. Nil for mail about a user's own action, such as a receipt, which is
    /// always sent.
    var topic: String?
    var author: Author
    /// An order with a known origin is not placed again.
    var origin: String?
    /// The digest of the request with an `Idempotency-Key`. The same key with a different digest is refused.
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
    /// A user id. The mail goes to the user's verified address at the time of writing.
    case user(String)
}

/// The content of a mail. Stored encrypted as JSON until the mail has been sent: keep old shapes readable.
struct MailContent: Codable, Sendable, Equatable {
    /// The values that every mail has in addition to its variables.
    static let ownValues: Set<String> = ["app", "email", "unsubscribe"]

    /// Texts with placeholders, in one language.
    struct Words: Codable, Sendable, Equatable {
        var subject: String
        var text: String
        var html: String?
    }

    /// The name of one of the app's templates; nil if there are `words`.
    var template: String?
    var words: Words?
    var variables: [String: String] = [:]
    /// Nil means the user's language.
    var language: String?
    var replyTo: String?

    /// The names that a template of this mail may use.
    func names(hasTopic: Bool) -> Set<String> {
        let own = hasTopic ? Self.ownValues : Self.ownValues.subtracting(["unsubscribe"])
        return own.union(variables.keys)
    }
}

extension MailContent.Words {
    /// The limit for each body, in bytes.
    static let maximumBodySize = 64 << 10

    /// - Throws: `invalid-body` that names the field.
    var template: MailTemplate {
        get throws {
            try MailTemplate(
                subject: subject, text: text, html: html, names: nil, maximumBodySize: Self.maximumBodySize)
        }
    }
}
