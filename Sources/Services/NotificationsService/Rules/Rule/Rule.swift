import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// What an app wants to be sent when something happens.
struct Rule: Sendable {
    static let maximumPerSpace = 50
    static let maximumSizeInBytes = 32 << 10
    static let maximumContentSizeInBytes = 8 << 10
    /// A minute to four weeks.
    static let lifetime = 60...2_419_200
    static let usualLifetimeInSeconds = 86_400

    var name: String
    var isEnabled: Bool
    var trigger: RuleTrigger
    var condition: RuleCondition
    var recipients: Recipients
    /// Nil: no message is sent.
    var content: Content?
    /// What a template's places are filled with: texts with places of their own.
    var variables: [JSONValue.Member]
    var webhookURL: String?
    /// Nil: no mail is sent.
    var mail: RuleMail?
    var limit: Limit
    /// After which a message is given up.
    var lifetimeInSeconds: Int
    /// As it was given, without whether it is enabled.
    var json: JSONValue

    enum Content: Sendable {
        case template(String)
        case own(JSONValue)
    }

    /// How often it may act; what is beyond is dropped, and said.
    struct Limit: Sendable, Equatable {
        var count = 600
        var seconds = 60
    }

    static let fields: Set<String> = [
        "description", "enabled", "when", "where", "if", "to", "except", "template", "variables", "content", "mail",
        "webhook", "limit", "expiresSeconds",
    ]

    /// All but whether the template is there and the webhook can be spoken to.
    ///
    /// - Throws: `invalid-name`; `invalid-body` naming the field.
    init(name: String, _ body: JSONValue) throws {
        let fields = try BodyFields(body, Self.fields)
        self.name = try Self.checked(name)
        guard (try fields.string("description") ?? "").utf8.count <= 1_000 else {
            throw HTTPProblem(.invalidBody, "It has up to 1,000 bytes.", field: "description")
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
            throw HTTPProblem(.invalidBody, "A rule has a template, content, mail or a webhook.", field: "content")
        }
        if trigger.isOnChanges == false, recipients.readsObjects || mail?.recipients?.readsObjects == true {
            throw HTTPProblem(.invalidBody, "Only changes have an object.", field: "to")
        }
        limit = try Self.limit(fields["limit"])
        lifetimeInSeconds = try fields.integer("expiresSeconds", in: Self.lifetime) ?? Self.usualLifetimeInSeconds
        guard case .object(let members) = body else { throw HTTPProblem(.invalidBody, "This must be an object.") }
        json = .object(members.filter { $0.name != "enabled" })
        guard !json.text.contains("\\u0000") else {
            throw HTTPProblem(.invalidBody, "The character U+0000 cannot be kept.")
        }
        guard json.text.utf8.count <= Self.maximumSizeInBytes else {
            throw HTTPProblem(.invalidBody, "A rule has up to \(Self.maximumSizeInBytes) bytes.")
        }
        try checkRecipients()
    }

    /// - Throws: `invalid-body` where somebody is named who would be sent nothing, or nobody who would be.
    private func checkRecipients() throws {
        let isMailToThem = mail.map { $0.recipients == nil } ?? false
        let isWanted = content != nil || isMailToThem
        guard isWanted != recipients.isEmpty else {
            throw HTTPProblem(
                .invalidBody, isWanted ? "This field is required." : "There is nothing that they would be sent.",
                field: "to")
        }
        guard !isMailToThem || recipients.sources.contains(where: \.isUsers) else {
            throw HTTPProblem(.invalidBody, "Mail goes to users: name them here or in to.", field: "mail.users")
        }
    }

    /// A letter, then at most 63 letters, digits, `_` or `-`.
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
            throw HTTPProblem(
                .invalidName, "A rule's name is a letter and then at most 63 letters, digits, _ or -.", field: "name")
        }
        return name
    }

    private static func content(_ fields: BodyFields) throws -> Content? {
        switch (try fields.string("template"), fields["content"]) {
        case (nil, nil), (nil, .null): return nil
        case (let name?, nil), (let name?, .null): return .template(name)
        case (nil, let content?):
            guard case .object = content, content.text.utf8.count <= maximumContentSizeInBytes else {
                throw HTTPProblem(
                    .invalidBody, "It is an object of at most \(maximumContentSizeInBytes) bytes.", field: "content")
            }
            return .own(content)
        default: throw HTTPProblem(.invalidBody, "A rule has a template or content, not both.", field: "content")
        }
    }

    private static func variables(_ value: JSONValue?) throws -> [JSONValue.Member] {
        let refusal = HTTPProblem(
            .invalidBody, #"It is an object of up to 30 texts such as {"bike":"{{object.name}}"}."#, field: "variables")
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
            throw HTTPProblem(.invalidBody, #"It is {"url":"https://…"}."#, field: "webhook")
        }
        return url
    }

    private static func limit(_ value: JSONValue?) throws -> Limit {
        guard let value, value != .null else { return Limit() }
        guard let fields = try? BodyFields(value, ["count", "seconds"]),
            let count = try? fields.integer("count", in: 1...100_000),
            let seconds = try? fields.integer("seconds", in: 1...86_400)
        else { throw HTTPProblem(.invalidBody, #"It is {"count":1…100000,"seconds":1…86400}."#, field: "limit") }
        return Limit(count: count, seconds: seconds)
    }
}
