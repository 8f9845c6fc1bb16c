import MartletAPI
import MartletCore
import MartletHTTP

/// What a rule mails: one of the app's templates, to users. As JSON
/// `{"template","users"?,"variables"?,"topic"?,"language"?,"replyTo"?}`: `users` are sources as a rule's `to` has them,
/// those of `to` if there are none; variables are texts with places.
struct RuleMail: Sendable {
    /// That one act mails.
    static let maximumUsers = 1_000
    private static let fields: Set<String> = ["template", "users", "variables", "topic", "language", "replyTo"]

    /// Its own; nil: the rule's.
    var recipients: Recipients?
    /// Its variables are not filled yet.
    var content: MailContent
    var topic: String?

    /// - Parameter except: the rule's.
    /// - Throws: `invalid-body` naming the field.
    init(_ json: JSONValue, except: JSONValue?) throws {
        (content, topic) = try Self.naming { () throws -> (MailContent, String?) in
            let fields = try BodyFields(json, Self.fields)
            _ = try fields.requiredString("template")
            return (
                try MailContent(fields), try fields.string("topic").map { try MailTopic.checked($0, field: "topic") }
            )
        }
        guard let users = json["users"], users != .null else { return }
        do {
            recipients = try Recipients(to: users, except: except)
        } catch let problem as HTTPProblem where problem.field != "except" {
            throw HTTPProblem(problem.code, problem.detail, field: "mail.users")
        }
        guard recipients?.sources.allSatisfy(\.isUsers) == true else {
            throw HTTPProblem(
                .invalidBody, #"Mail goes to users: {"field"}, {"field","of"} and {"user"}."#, field: "mail.users")
        }
    }

    private static func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let problem as HTTPProblem {
            throw HTTPProblem(problem.code, problem.detail, field: problem.field.map { "mail.\($0)" } ?? "mail")
        }
    }
}

extension Recipients.Source {
    /// Whether it names users by their ids.
    var isUsers: Bool {
        switch self {
        case .field, .related, .user: true
        case .channel, .installation, .audience: false
        }
    }
}
