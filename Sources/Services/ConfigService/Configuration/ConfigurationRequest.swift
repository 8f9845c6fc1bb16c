import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP

/// What a client asks for, and what is known of it.
struct ConfigurationRequest: Sendable {
    static let maximumAttributes = 100
    static let maximumAttributesSizeInBytes = 16 << 10
    /// What a client may say of itself by name; each is text of at most 200 bytes.
    static let descriptions = ["language", "platform", "osVersion", "country", "build"]

    let space: ConfigSpace
    let appVersion: VersionNumber
    /// Nil: whichever is usual.
    let theme: String?
    /// For conditions: `appVersion`, `theme`, the `descriptions`, `userId`, `deviceId`, `id` (of the user, or else of
    /// the device), `isSignedIn`, `now`, `user`, and whatever else the client says.
    private(set) var attributes: FlagAttributes
    let unit: ExperimentUnit
    private let principal: Principal
    /// What is asked for is this new at least; nil: as new as it happens to be.
    var generation: Int64?

    /// - Throws: `invalid-parameter`, `invalid-body`, `forbidden` for keys that are not for apps.
    init(
        appVersion: String, theme: String?, described: [String: String], attributes given: JSONValue? = nil,
        _ request: Request,
        _ context: ServiceContext
    ) throws {
        principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
        space = try context.space
        guard let version = VersionNumber(appVersion) else {
            throw HTTPProblem(
                .invalidParameter, "An app version is 1 to 4 numbers with dots between them, such as 1.2.0.",
                field: "appVersion")
        }
        self.appVersion = version
        self.theme = theme
        var attributes = try Self.attributes(given)
        // What is known for sure takes the place of what is only said.
        let deviceID = try request.deviceID
        unit = ExperimentUnit(userID: principal.userID, deviceID: deviceID)
        attributes["user"] = principal.userID.map { .object(["id": .string($0)]) }
        attributes["userId"] = principal.userID.map { .string($0) }
        attributes["deviceId"] = deviceID.map { .string($0) }
        attributes["id"] = (principal.userID ?? deviceID).map { .string($0) }
        attributes["isSignedIn"] = .bool(principal.userID != nil)
        attributes["appVersion"] = .string(version.text)
        attributes["theme"] = theme.map { .string($0) }
        attributes["now"] = .number(Date().timeIntervalSince1970)
        for (name, text) in described {
            guard (1...200).contains(text.utf8.count) else {
                throw HTTPProblem(.invalidParameter, "This must have 1 to 200 bytes.", field: name)
            }
            attributes[name] = .string(text)
        }
        self.attributes = attributes
    }

    /// Asks for what is known of the user, where it is looked at.
    mutating func learn(_ users: UserAttributes, _ needs: UserAttributes.Needs) async {
        attributes = await users.adding(to: attributes, of: principal, needs)
    }

    private static func attributes(_ given: JSONValue?) throws -> FlagAttributes {
        guard let given, given != .null else { return [:] }
        guard let members = given.members else {
            throw HTTPProblem(.invalidBody, "This must be an object.", field: "attributes")
        }
        guard members.count <= maximumAttributes, given.text.utf8.count <= maximumAttributesSizeInBytes else {
            throw HTTPProblem(
                .invalidBody,
                "These may be at most \(maximumAttributes), of \(maximumAttributesSizeInBytes) bytes together.",
                field: "attributes")
        }
        return FlagAttributes(Dictionary(members.map { ($0.name, FlagValue($0.value)) }) { $1 })
    }
}

extension Request {
    /// What a client calls its device: `X-Device-Id`.
    ///
    /// - Throws: `invalid-parameter`.
    var deviceID: String? {
        get throws {
            guard let name = HTTPField.Name(HeaderName.deviceID), let text = headers[name] else { return nil }
            guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw HTTPProblem(
                    .invalidParameter, "It must be 1 to 128 visible ASCII characters.", field: "X-Device-Id")
            }
            return text
        }
    }
}
