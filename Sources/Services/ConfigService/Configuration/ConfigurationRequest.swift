import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP

/// A client's request for a configuration, with the known attributes of the client and its user.
struct ConfigurationRequest: Sendable {
    static let maximumAttributes = 100
    static let maximumAttributesSizeInBytes = 16 << 10
    /// The properties that a client may report about itself; each is a string of at most 200 bytes.
    static let clientPropertyNames = ["language", "platform", "osVersion", "country", "build"]

    let space: AppSpace
    let appVersion: VersionNumber
    /// Nil for the default theme.
    let theme: String?
    /// For conditions: `appVersion`, `theme`, the `clientPropertyNames`, `userId`, `deviceId`, `id` (of the user,
    /// otherwise of the device), `isSignedIn`, `now`, `user`, and any other attributes that the client sends.
    private(set) var attributes: FlagAttributes
    let unit: ExperimentUnit
    private let principal: Principal

    /// - Parameter properties: The values of `clientPropertyNames` that the client sent.
    /// - Throws: `invalid-parameter`, `invalid-body`, `forbidden` for keys that are not app keys.
    init(
        appVersion: String, theme: String?, properties: [String: String], attributes given: JSONValue? = nil,
        at now: Date, _ request: Request, _ context: ServiceContext
    ) throws {
        principal = try context.principal
        space = try context.space
        guard let version = VersionNumber(appVersion) else {
            throw ServiceError(
                .invalidParameter, "An app version must be 1 to 4 numbers separated by dots, such as 1.2.0.",
                field: "appVersion")
        }
        self.appVersion = version
        self.theme = theme
        var attributes = try Self.attributes(given)
        // These replace attributes of the same name that the client sent.
        let deviceID = try request.deviceID
        unit = ExperimentUnit(userID: principal.userID, deviceID: deviceID)
        attributes["user"] = principal.userID.map { .object(["id": .string($0)]) }
        attributes["userId"] = principal.userID.map { .string($0) }
        attributes["deviceId"] = deviceID.map { .string($0) }
        attributes["id"] = (principal.userID ?? deviceID).map { .string($0) }
        attributes["isSignedIn"] = .bool(principal.userID != nil)
        attributes["appVersion"] = .string(version.text)
        attributes["theme"] = theme.map { .string($0) }
        attributes["now"] = .number(now.timeIntervalSince1970)
        for (name, text) in properties {
            guard (1...200).contains(text.utf8.count) else {
                throw ServiceError(.invalidParameter, "Expected 1 to 200 bytes.", field: name)
            }
            attributes[name] = .string(text)
        }
        self.attributes = attributes
    }

    /// Adds the attributes of the user that `needs` names.
    mutating func addUserAttributes(_ users: UserAttributes, _ needs: UserAttributes.Needs) async {
        attributes = await users.adding(to: attributes, of: principal, needs)
    }

    private static func attributes(_ given: JSONValue?) throws -> FlagAttributes {
        guard let given, given != .null else { return [:] }
        guard let members = given.members else {
            throw ServiceError(.invalidBody, "Expected an object, found \(given.phrase).", field: "attributes")
        }
        guard members.count <= maximumAttributes, given.text.utf8.count <= maximumAttributesSizeInBytes else {
            throw ServiceError(
                .invalidBody,
                "There may be at most \(maximumAttributes) attributes with \(maximumAttributesSizeInBytes) bytes in total.",
                field: "attributes")
        }
        return FlagAttributes(Dictionary(members.map { ($0.name, FlagValue($0.value)) }) { $1 })
    }
}

extension Request {
    /// The client's own id of its device, from `X-Device-Id`.
    ///
    /// - Throws: `invalid-parameter`.
    var deviceID: String? {
        get throws {
            guard let name = HTTPField.Name(HeaderName.deviceID), let text = headers[name] else { return nil }
            guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw ServiceError(
                    .invalidParameter, "Expected 1 to 128 visible ASCII characters.", field: "X-Device-Id")
            }
            return text
        }
    }
}
