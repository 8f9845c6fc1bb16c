import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// Checks that the project in the path, by its number as clients write it or by its id, is the app of the master
    /// key.
    ///
    /// - Throws: `forbidden`; `app-not-found` if the path names another app.
    func symbolProject(_ parameter: String) throws -> Principal {
        let principal = try master
        let name = parameters.get(parameter) ?? ""
        guard name == String(principal.appNumber) || name == principal.appID else {
            throw ServiceError(.appNotFound, "This key belongs to the project \(principal.appNumber).")
        }
        return principal
    }

    /// The app whose debug files the call is about.
    ///
    /// - Throws: `app-not-found` if the principal names no app.
    var symbolAppID: String {
        get throws {
            let principal = try principal
            guard !principal.appID.isEmpty else { throw ServiceError(.appNotFound) }
            return principal.appID
        }
    }

    /// - Throws: `debug-file-not-found` if the path has no valid id.
    var debugFileID: UUID {
        get throws { try uuid("file", else: .debugFileNotFound) }
    }
}

extension Request {
    /// A debug id in the query; nil if there is none.
    ///
    /// - Throws: `invalid-parameter`.
    func debugID(_ name: Substring) throws -> DebugID? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let debugID = DebugID(String(text)) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "a debug id of 32 hexadecimal digits, with or without hyphens", found: text)
        }
        return debugID
    }
}
