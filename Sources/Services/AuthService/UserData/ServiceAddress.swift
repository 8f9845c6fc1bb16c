public import Foundation
import MartletHTTP

/// Where another service listens for processes of ours.
public struct ServiceAddress: Sendable {
    public var name: String
    public var url: URL

    public init(name: String, url: URL) {
        self.name = name
        self.url = url
    }

    /// Every other service, in the order in which data of a user is erased, with its usual port.
    private static let others = [("storage", 8202), ("config", 8203), ("analytics", 8204), ("notifications", 8205)]

    /// `services.<name>`.
    ///
    /// - Throws: `SettingsError`.
    static func all(_ settings: Settings) throws -> [ServiceAddress] {
        try others.map { name, port in
            let usual = ServiceAddress(name: name, url: URL(string: "http://127.0.0.1:\(port)") ?? AuthService.defaultPublicURL)
            return ServiceAddress(name: name, url: try settings.url("services.\(name)", default: usual.url))
        }
    }
}
