import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// What an app reports about itself and its device: the validated body of `PUT` and `PATCH /installations/:id`.
struct InstallationFields: Sendable {
    static let maximumChannels = 100
    static let maximumAttributesSizeInBytes = 4 << 10
    static let maximumBadge = 100_000
    private static let members: Set<String> = [
        "platform", "push", "appVersion", "osVersion", "deviceModel", "locale", "timeZone", "channels", "attributes",
        "badge",
    ]

    /// An optional member of the body.
    enum Change<Value: Sendable>: Sendable {
        /// The member is missing.
        case none
        /// The new value; nil for null.
        case set(Value?)
    }

    var platform: Platform?
    var push: Change<PushAddress>
    var appVersion, osVersion, deviceModel, locale, timeZone: Change<String>
    var channels: [String]?
    var attributes: JSONValue?
    var badge: Int?

    /// - Throws: `invalid-json`, `invalid-body` that names the field, `payload-too-large`.
    init(_ request: Request) async throws {
        let fields = try await BodyFields(request, Self.members, upTo: 32 << 10)
        platform = try fields.choice("platform")
        push = try fields.change("push") { value in try ServiceError.inside("push") { try PushAddress(value) } }
        appVersion = try fields.shortText("appVersion")
        osVersion = try fields.shortText("osVersion")
        deviceModel = try fields.shortText("deviceModel")
        locale = try fields.shortText("locale") { Self.languageTag($0) }
        timeZone = try fields.shortText("timeZone") { TimeZone(iana: $0) == nil ? nil : $0 }
        channels = try fields.strings("channels", upTo: Self.maximumChannels).map { try Self.checked($0) }
        if let text = try fields.object("attributes", upTo: Self.maximumAttributesSizeInBytes) {
            attributes = try JSONValue(parsing: text.utf8)
        }
        badge = try fields.integer("badge", in: 0...Self.maximumBadge)
    }

    /// Applies a `PUT`. Replaces all fields that the app reports each time. Channels, attributes and badge, which other
    /// calls also change, are kept when they are not in the body.
    ///
    /// - Throws: `invalid-body` when the platform is missing or does not support the push service.
    func replace(_ installation: inout Installation) throws {
        guard let platform else { throw ServiceError(.invalidBody, "This field is required.", field: "platform") }
        installation.platform = platform
        installation.push = push.value
        installation.appVersion = appVersion.value
        installation.osVersion = osVersion.value
        installation.deviceModel = deviceModel.value
        installation.locale = locale.value
        installation.timeZone = timeZone.value
        if let channels { installation.channels = channels }
        if let attributes { installation.attributes = attributes }
        if let badge { installation.badge = badge }
        try Self.checkService(of: installation)
    }

    /// Applies a `PATCH`: missing members are kept, null removes a value, and attributes are merged (RFC 7396).
    ///
    /// - Throws: `invalid-body` when the platform does not support the push service; `limit-exceeded` when the
    ///   attributes become too large.
    func merge(into installation: inout Installation) throws {
        if let platform { installation.platform = platform }
        push.apply(to: &installation.push)
        appVersion.apply(to: &installation.appVersion)
        osVersion.apply(to: &installation.osVersion)
        deviceModel.apply(to: &installation.deviceModel)
        locale.apply(to: &installation.locale)
        timeZone.apply(to: &installation.timeZone)
        if let channels { installation.channels = channels }
        if let badge { installation.badge = badge }
        if let attributes {
            installation.attributes = installation.attributes.merging(attributes)
            guard installation.attributes.text.utf8.count <= Self.maximumAttributesSizeInBytes else {
                throw ServiceError(
                    .limitExceeded,
                    "The merged attributes may have at most \(Self.maximumAttributesSizeInBytes) bytes.",
                    field: "attributes")
            }
        }
        try Self.checkService(of: installation)
    }

    /// Whether the body contains a token. It then counts as registered now, even if it is unchanged.
    var hasToken: Bool { push.value != nil }

    /// - Throws: `invalid-body`.
    private static func checkService(of installation: Installation) throws {
        guard let push = installation.push, !installation.platform.services.contains(push.service) else { return }
        throw ServiceError(
            .invalidBody,
            "Push service \(push.service.rawValue) is not available on \(installation.platform.rawValue).",
            field: "push.service")
    }

    /// The valid names, without duplicates and sorted.
    private static func checked(_ names: [String]) throws -> [String] {
        for name in names where !ChannelName.isValid(name) {
            throw ServiceError(.invalidBody, ChannelName.sentence, field: "channels")
        }
        return Set(names).sorted()
    }

    /// The language tag of a locale; also accepts system locales such as `de_DE` and `en_US@calendar=buddhist`.
    private static func languageTag(_ text: String) -> String? {
        LanguageTag(String(text.prefix { $0 != "@" }).replacing("_", with: "-"))?.text
    }
}

extension InstallationFields.Change {
    var value: Value? { if case .set(let value) = self { value } else { nil } }

    fileprivate func apply(to place: inout Value?) {
        if case .set(let value) = self { place = value }
    }
}

extension BodyFields {
    fileprivate func change<Value>(_ name: String, _ read: (JSONValue) throws -> Value) throws
        -> InstallationFields.Change<Value>
    {
        switch self[name] {
        case nil: .none
        case .null: .set(nil)
        case let value?: .set(try read(value))
        }
    }

    /// - Parameter normalize: Normalizes the text for storage; nil if it is invalid.
    fileprivate func shortText(_ name: String, _ normalize: (String) -> String? = { $0 }) throws
        -> InstallationFields.Change<String>
    {
        guard self[name] != nil else { return .none }
        guard let text = try string(name) else { return .set(nil) }
        guard (1...100).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }), let text = normalize(text)
        else { throw ServiceError(.invalidBody, "This is not a valid value of at most 100 bytes.", field: name) }
        return .set(text)
    }
}

/// The rule for channel names.
enum ChannelName {
    static let sentence = "A channel name has 1 to 64 letters, digits, dots, colons, hyphens and underscores."

    static func isValid(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: ".:-_".utf8.contains(byte)
                }
            }
    }
}
