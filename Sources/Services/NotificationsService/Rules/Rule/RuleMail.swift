import MartletAPI
import MartletCore
import MartletHTTP

/// The mail of a rule: one of the app's templates, sent to users. As JSON
/// `{"template","users"?,"variables"?,"topic"?,"language"?,"replyTo"?}`. `users` are sources as in a rule's `to`, and
/// default to it; variables are texts with placeholders.
struct RuleMail: Sendable {
    /// The limit per action.
    static let maximumUsers = 1_000
    private static let fields: Set<String> = ["template", "users", "variables", "topic", "language", "replyTo"]

    /// Nil means the recipients of the rule.
    var recipients: Recipients?
    /// Its variables contain unfilled placeholders.
    var content: MailContent
    var topic: String?

    /// - Parameter except: The rule's `except`.
    /// - Throws: `invalid-body` that names the field.
    init(_ json: JSONValue, except: JSONValue?) throws {
        (content, topic) = try ServiceError.inside("mail") { () throws -> (MailContent, String?) in
            let fields = try BodyFields(json, Self.fields)
            _ = try fields.requiredString("template")
            return (
                try MailContent(fields), try fields.string("topic").map { try MailTopic.checked($0, field: "topic") }
            )
        }
        guard let users = json["users"], users != .null else { return }
        do {
            recipients = try Recipients(to: users, except: except)
        } catch let problem as ServiceError where problem.field != "except" {
            throw ServiceError(problem.code, problem.detail, field: "mail.users")
        }
        guard recipients?.sources.allSatisfy(\.isUsers) == true else {
            throw ServiceError(
                .invalidBody, #"Mail can be sent only to users: {"field"}, {"field","of"} and {"user"}."#,
                field: "mail.users")
        }
    }
}

extension Recipients.Source {
    /// Whether the source names users by id.
    var isUsers: Bool {
        switch self {
        case .field, .related, .user: true
        case .channel, .installation, .audience: false
        }
    }
}
