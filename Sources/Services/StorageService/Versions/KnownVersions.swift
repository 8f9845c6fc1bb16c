import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import Synchronization

/// The live configurations and translations, by app and environment, in memory.
final class KnownVersions: Sendable {
    private let known = Mutex<[AppSpace: VersionNotice]>([:])

    /// What every list response of the space reports about its live versions.
    subscript(space: AppSpace) -> VersionNotice {
        known.withLock { $0[space] } ?? .none
    }

    func replace(with spaces: [LiveVersions.Space]) {
        let notices = Dictionary(
            spaces.map {
                (
                    AppSpace(appID: $0.appID, environment: $0.environment),
                    VersionNotice(config: $0.config, translation: $0.translation)
                )
            }
        ) { $1 }
        known.withLock { $0 = notices }
    }
}

/// What a list response reports about live versions, already encoded: the start of its body, and header fields.
final class VersionNotice: Sendable {
    static let none = VersionNotice(config: nil, translation: nil)

    /// The body up to the count: `{"config":{"version","date"},"translation":{"version","date"},"count":`
    let head: String
    let headers: HTTPFields

    init(config: LiveVersions.Version?, translation: LiveVersions.Version?) {
        head = #"{"config":\#(Self.json(config)),"translation":\#(Self.json(translation)),"count":"#
        var headers: HTTPFields = [:]
        for (name, version) in [(HeaderName.configVersion, config), (HeaderName.translationVersion, translation)] {
            guard let version, let name = HTTPField.Name(name) else { continue }
            headers[name] = #""\#(version.version)";date="\#(version.date)""#
        }
        self.headers = headers
    }

    private static func json(_ version: LiveVersions.Version?) -> String {
        guard let version else { return #"{"version":null,"date":null}"# }
        return #"{"version":\#(JSONValue.quote(version.version)),"date":\#(JSONValue.quote(version.date))}"#
    }
}
