import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPush

extension MessageContent {
    static let maximumVariants = 4
    static let maximumLanguages = 100
    static let maximumTimeToLiveInSeconds = 28 * 86_400
    /// The maximum size of the JSON, in bytes.
    static let maximumSizeInBytes = 256 << 10

    private static let names: Set<String> = [
        "title", "subtitle", "body", "localized", "variants", "badge", "sound", "image", "category", "thread",
        "collapseId", "data", "silent",
        "priority", "pushType", "liveActivity", "interruptionLevel", "relevance", "ttl", "atMostOnce",
    ]

    /// Reads the member `content` of a body, or what is stored. `check()` verifies that it fits into a push.
    ///
    /// - Throws: `invalid-body` that names the field, such as `content.title`.
    init(_ json: JSONValue) throws {
        self = try ServiceError.inside("content") { try MessageContent(reading: json) }
    }

    private init(reading json: JSONValue) throws {
        guard json.text.utf8.count <= Self.maximumSizeInBytes else {
            throw ServiceError(
                .invalidBody, "The content of a message may have at most \(Self.maximumSizeInBytes) bytes.")
        }
        let fields = try BodyFields(json, Self.names)
        texts = try MessageTexts(fields)
        localized = try Self.localized(fields)
        variants = try Self.variants(fields)
        badge = try MessageBadge(fields)
        sound = try fields.text("sound", upTo: 100)
        image = try fields.text("image", upTo: 2_000)
        if let image, URL(string: image)?.scheme?.lowercased() != "https" {
            throw ServiceError.unexpectedMember("image", expected: "an https URL", found: image)
        }
        category = try fields.text("category", upTo: 100)
        thread = try fields.text("thread", upTo: 200)
        collapseID = try fields.text("collapseId", upTo: 64)
        data = try Self.data(fields)
        isSilent = try fields.flag("silent") ?? false
        priority = try fields.choice("priority")
        pushType = try fields.choice("pushType")
        liveActivity = try fields["liveActivity"].flatMap { $0 == .null ? nil : try LiveActivityContent($0) }
        interruptionLevel = try fields.choice("interruptionLevel")
        relevance = try fields.fraction("relevance")
        timeToLiveInSeconds = try fields.integer("ttl", in: 0...Self.maximumTimeToLiveInSeconds)
        atMostOnce = try fields.flag("atMostOnce") ?? false
        try checkTogether()
    }

    /// Checks the members against each other.
    private func checkTogether() throws {
        if (effectivePushType == .liveActivity) != (liveActivity != nil) {
            throw ServiceError(
                .invalidBody, "liveActivity and the push type liveactivity must be used together.",
                field: "liveActivity")
        }
        if isSilent, interruptionLevel != nil || sound != nil {
            throw ServiceError(
                .invalidBody, "A silent message can have neither sound nor interruptionLevel.", field: "silent")
        }
        if isSilent, effectivePushType != .background {
            throw ServiceError(.invalidBody, "A silent message must have the push type background.", field: "pushType")
        }
        if effectivePushType == .alert, badge == nil {
            for variant in 0..<variantCount where texts(variant: variant, in: nil).isEmpty {
                throw ServiceError(
                    .invalidBody, "A message that is not silent requires a title, a body or a badge.", field: "body")
            }
        }
    }

    private static func localized(_ fields: BodyFields) throws -> [LanguageTag: MessageTexts] {
        guard let value = fields["localized"], value != .null else { return [:] }
        guard case .object(let members) = value, members.count <= maximumLanguages else {
            throw ServiceError(
                .invalidBody, "Expected an object of at most \(maximumLanguages) languages.", field: "localized")
        }
        var localized: [LanguageTag: MessageTexts] = [:]
        for member in members {
            guard let language = LanguageTag(member.name), localized[language] == nil else {
                throw ServiceError(
                    .invalidBody, "Expected a language tag, such as en or de-AT, that occurs only once.",
                    field: "localized.\(member.name.prefix(40))")
            }
            localized[language] = try MessageTexts(try BodyFields(member.value, Set(MessageTexts.names)))
        }
        return localized
    }

    private static func variants(_ fields: BodyFields) throws -> [MessageVariant] {
        guard let value = fields["variants"], value != .null else { return [] }
        guard case .array(let elements) = value, (2...maximumVariants).contains(elements.count) else {
            throw ServiceError(
                .invalidBody, "Expected an array of 2 to \(maximumVariants) variants.", field: "variants")
        }
        let variants = try elements.map { element in
            let fields = try BodyFields(element, ["name", "weight", "title", "subtitle", "body", "localized"])
            guard let name = try fields.text("name", upTo: 40) else {
                throw ServiceError(.invalidBody, "This field is required.", field: "variants.name")
            }
            return MessageVariant(
                name: name, weight: try fields.integer("weight", in: 1...1_000) ?? 1, texts: try MessageTexts(fields),
                localized: try localized(fields))
        }
        guard Set(variants.map(\.name)).count == variants.count else {
            throw ServiceError(.invalidBody, "The names of variants must be distinct.", field: "variants.name")
        }
        return variants
    }

    private static func data(_ fields: BodyFields) throws -> [JSONValue.Member] {
        guard let value = fields["data"], value != .null else { return [] }
        guard case .object(let members) = value, Set(members.map(\.name)).count == members.count else {
            throw ServiceError(.invalidBody, "Expected an object with distinct names.", field: "data")
        }
        for member in members where ["aps", "martlet"].contains(member.name) {
            throw ServiceError(.invalidBody, "The name \(member.name) is reserved.", field: "data.\(member.name)")
        }
        return members
    }
}

extension MessageTexts {
    init(_ fields: BodyFields) throws {
        self.init(
            title: try fields.text("title", upTo: 1_000), subtitle: try fields.text("subtitle", upTo: 1_000),
            body: try fields.text("body", upTo: 4_096))
    }
}

extension MessageBadge {
    fileprivate init?(_ fields: BodyFields) throws {
        switch fields["badge"] {
        case nil, .null: return nil
        case .string("increment"): self = .increment
        case let value?:
            guard case .number = value, let number = try fields.integer("badge", in: 0...99_999) else {
                throw ServiceError(
                    .invalidBody, "Expected a number from 0 to 99999, or \"increment\", found \(value.phrase).",
                    field: "badge")
            }
            self = .number(number)
        }
    }
}

extension LiveActivityContent {
    fileprivate init(_ json: JSONValue) throws {
        let fields = try BodyFields(
            json, ["event", "attributesType", "attributes", "contentState", "stale", "dismissal"])
        switch try fields.requiredString("event") {
        case "start":
            event = .start(
                attributesType: try fields.requiredString("attributesType"),
                attributes: fields["attributes"] ?? .object([]))
        case "update": event = .update
        case "end": event = .end(dismissal: try fields.time("dismissal"))
        default: throw ServiceError(.invalidBody, "Expected start, update or end.", field: "liveActivity.event")
        }
        contentState = fields["contentState"]
        staleDate = try fields.time("stale")
        if contentState == nil, event == .update {
            throw ServiceError(.invalidBody, "This field is required.", field: "liveActivity.contentState")
        }
    }
}
