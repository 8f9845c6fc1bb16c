import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// A rule of an app: what to send when something happens.
struct Rule: Sendable {
    static let maximumPerSpace = 50
    static let maximumSizeInBytes = 32 << 10
    static let maximumContentSizeInBytes = 8 << 10
    /// From one minute to four weeks.
    static let lifetime = 60...2_419_200
    static let defaultLifetimeInSeconds = 86_400

    var name: String
    var isEnabled: Bool
    var trigger: RuleTrigger
    var condition: RuleCondition
    var recipients: Recipients
    /// Nil if the rule sends no message.
    var content: Content?
    /// The values for the template, which may themselves contain placeholders.
    var variables: [JSONValue.Member]
    var webhookURL: String?
    /// Nil if the rule sends no mail.
    var mail: RuleMail?
    var limit: Limit
    /// The time after which a message is dropped.
    var lifetimeInSeconds: Int
    /// The rule as given, except for `enabled`.
    var json: JSONValue

    enum Content: Sendable {
        case template(String)
        case own(JSONValue)
    }

    /// How often the rule may act. Further actions are dropped and logged as runs.
    struct Limit: Sendable, Equatable {
        var count = 600
        var seconds = 60
    }

    static let fields: Set<String> = [
        "description", "enabled", "when", "where", "if", "to", "except", "template", "variables", "content", "mail",
        "webhook", "limit", "expiresSeconds",
    ]

    /// Validates everything except whether the template exists and the webhook may be called.
    ///
    /// - Throws: `invalid-name`; `invalid-body` that names the field.
    init(name: String, _ body: JSONValue) throws {
        let fields = try BodyFields(body, Self.fields)
        self.name = try Self.checked(name)
        guard (try fields.string("description") ?? "").utf8.count <= 1_000 else {
            throw ServiceError(.invalidBody, "Expected at most 1,000 bytes.", field: "description")
        }
        isEnabled = try fields.flag("enabled") ?? true
        trigger = try RuleTrigger(fields["when"])
        condition = try RuleCondition(where: fields["where"], if: fields["if"])
        recipients = try Recipients(to: fields["to"], except: fields["except"])
        variables = try Self.variables(fields["variables"])
        webhookURL = try Self.webhook(fields["webhook"])
        content = try Self.content(fields)
        mail = if let mail = fields["mail"], mail != .null { try RuleMail(mail, except: fields["except"]) } else { nil }
        guard content != nil || webhookURL != nil || mail != nil else {
            throw ServiceError(
                .invalidBody, "A rule must have a template, content, mail or a webhook.", field: "content")
        }
        if trigger.isOnChanges == false, recipients.readsObjects || mail?.recipients?.readsObjects == true {
            throw ServiceError(.invalidBody, "Only a rule on changes can refer to other objects.", field: "to")
        }
        limit = try Self.limit(fields["limit"])
        lifetimeInSeconds = try fields.integer("expiresSeconds", in: Self.lifetime) ?? Self.defaultLifetimeInSeconds
        guard case .object(let members) = body else { throw ServiceError(.invalidBody, "Expected an object.") }
        json = .object(members.filter { $0.name != "enabled" })
        guard !json.text.contains("\\u0000") else {
            throw ServiceError(.invalidBody, "The character U+0000 cannot be stored.")
        }
        guard json.text.utf8.count <= Self.maximumSizeInBytes else {
            throw ServiceError(.invalidBody, "A rule may have at most \(Self.maximumSizeInBytes) bytes.")
        }
        try checkRecipients()
    }

    /// - Throws: `invalid-body` when recipients are missing, or when they would receive nothing.
    private func checkRecipients() throws {
        let isMailToThem = mail.map { $0.recipients == nil } ?? false
        let isRequired = content != nil || isMailToThem
        guard isRequired != recipients.isEmpty else {
            throw ServiceError(
                .invalidBody,
                isRequired ? "This field is required." : "This is not allowed, because the rule sends them nothing.",
                field: "to")
        }
        guard !isMailToThem || recipients.sources.contains(where: \.isUsers) else {
            throw ServiceError(
                .invalidBody, "Mail can be sent only to users: name them here or in to.", field: "mail.users")
        }
    }

    /// Validates a name: a letter, then at most 63 letters, digits, `_` or `-`.
    ///
    /// - Throws: `invalid-name`.
    static func checked(_ name: String) throws -> String {
        let isWellFormed = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): index > 0
            default: false
            }
        }
        guard isWellFormed, (1...64).contains(name.utf8.count) else {
            throw ServiceError(
                .invalidName, "A rule name must be a letter, followed by at most 63 letters, digits, _ or -.",
                field: "name")
        }
        return name
    }

    private static func content(_ fields: BodyFields) throws -> Content? {
        switch (try fields.string("template"), fields["content"]) {
        case (nil, nil), (nil, .null): return nil
        case (let name?, nil), (let name?, .null): return .template(name)
        case (nil, let content?):
            guard case .object = content, content.text.utf8.count <= maximumContentSizeInBytes else {
                throw ServiceError(
                    .invalidBody, "Expected an object of at most \(maximumContentSizeInBytes) bytes.",
                    field: "content")
            }
            return .own(content)
        default:
            throw ServiceError(
                .invalidBody, "A rule may have either a template or content, not both.", field: "content")
        }
    }

    private static func variables(_ value: JSONValue?) throws -> [JSONValue.Member] {
        let refusal = ServiceError(
            .invalidBody, #"Expected an object of at most 30 texts such as {"bike":"{{object.name}}"}."#,
            field: "variables")
        switch value {
        case nil, .null: return []
        case .object(let members) where members.count <= 30:
            for member in members {
                guard case .string(let text) = member.value, text.utf8.count <= 1_000, TextTemplate.isName(member.name)
                else { throw refusal }
            }
            return members
        default: throw refusal
        }
    }

    private static func webhook(_ value: JSONValue?) throws -> String? {
        guard let value, value != .null else { return nil }
        guard let fields = try? BodyFields(value, ["url"]), let url = try fields.string("url") else {
            throw ServiceError(.invalidBody, #"Expected {"url":"https://…"}."#, field: "webhook")
        }
        return url
    }

    private static func limit(_ value: JSONValue?) throws -> Limit {
        guard let value, value != .null else { return Limit() }
        guard let fields = try? BodyFields(value, ["count", "seconds"]),
            let count = try? fields.integer("count", in: 1...100_000),
            let seconds = try? fields.integer("seconds", in: 1...86_400)
        else {
            throw ServiceError(.invalidBody, #"Expected {"count":1…100000,"seconds":1…86400}."#, field: "limit")
        }
        return Limit(count: count, seconds: seconds)
    }
}
