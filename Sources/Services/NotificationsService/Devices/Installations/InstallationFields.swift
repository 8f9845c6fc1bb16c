import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// What an app says of itself and its device: the body of `PUT` and `PATCH /installations/:id`, checked.
struct InstallationFields: Sendable {
    static let maximumChannels = 100
    static let maximumAttributesSizeInBytes = 4 << 10
    static let maximumBadge = 100_000
    private static let members: Set<String> = [
        "platform", "push", "appVersion", "osVersion", "deviceModel", "locale", "timeZone", "channels", "attributes",
        "badge",
    ]

    /// A member of the body.
    enum Change<Value: Sendable>: Sendable {
        /// It is not in the body.
        case none
        /// Nil for null.
        case set(Value?)
    }

    var platform: Platform?
    var push: Change<PushAddress>
    var appVersion, osVersion, deviceModel, locale, timeZone: Change<String>
    var channels: [String]?
    var attributes: JSONValue?
    var badge: Int?

    /// - Throws: `invalid-json`, `invalid-body` with the field, `payload-too-large`.
    init(_ request: Request) async throws {
        let fields = try await BodyFields(request, Self.members, upTo: 32 << 10)
        platform = try fields.string("platform").map { word in
            guard let platform = Platform(rawValue: word) else {
                throw HTTPProblem(
                    .invalidBody, "It is one of \(Platform.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "platform")
            }
            return platform
        }
        push = try fields.change("push") { value in try HTTPProblem.inside("push") { try PushAddress(value) } }
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

    /// What `PUT` makes of an installation: all that the app says each time is as it says it now. Channels, attributes
    /// and badge, which other calls change, too, stay where they are not in the body.
    ///
    /// - Throws: `invalid-body`: there is no platform, or the push service is not of it.
    func replace(_ installation: inout Installation) throws {
        guard let platform else { throw HTTPProblem(.invalidBody, "This field is required.", field: "platform") }
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

    /// What `PATCH` makes of it: what is not in the body stays, null takes away; attributes are merged (RFC 7396).
    ///
    /// - Throws: `invalid-body`: the push service is not of the platform, or there are too many attributes now.
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
                throw HTTPProblem(
                    .limitExceeded, "Attributes have at most \(Self.maximumAttributesSizeInBytes) bytes.",
                    field: "attributes")
            }
        }
        try Self.checkService(of: installation)
    }

    /// Whether the body brings a token: then it was registered now, even if it is the same.
    var bringsToken: Bool { push.value != nil }

    /// - Throws: `invalid-body`.
    private static func checkService(of installation: Installation) throws {
        guard let push = installation.push, !installation.platform.services.contains(push.service) else { return }
        throw HTTPProblem(
            .invalidBody, "There is no \(push.service.rawValue) on \(installation.platform.rawValue).",
            field: "push.service")
    }

    /// Different names in the order of the alphabet.
    private static func checked(_ names: [String]) throws -> [String] {
        for name in names where !ChannelName.isOne(name) {
            throw HTTPProblem(.invalidBody, ChannelName.sentence, field: "channels")
        }
        return Set(names).sorted()
    }

    /// Also of what systems call a locale: `de_DE`, `en_US@calendar=buddhist`.
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

    /// - Parameter spelled: the text as it is kept; nil: it is none.
    fileprivate func shortText(_ name: String, _ spelled: (String) -> String? = { $0 }) throws
        -> InstallationFields.Change<String>
    {
        guard self[name] != nil else { return .none }
        guard let text = try string(name) else { return .set(nil) }
        guard (1...100).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }), let text = spelled(text)
        else { throw HTTPProblem(.invalidBody, "This value is not possible here.", field: name) }
        return .set(text)
    }
}

/// What channels are called.
enum ChannelName {
    static let sentence = "A channel's name has 1 to 64 letters, digits, dots, colons, hyphens and underscores."

    static func isOne(_ text: String) -> Bool {
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
