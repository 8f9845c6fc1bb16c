import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// The app whose key asks, which is the project in the path: by its number, as the clients call it, or its id.
    ///
    /// - Throws: `forbidden`; `app-not-found` when the path names another one.
    func symbolProject(_ parameter: String) throws -> Principal {
        let principal = try master
        let name = parameters.get(parameter) ?? ""
        guard name == String(principal.appNumber) || name == principal.appID else {
            throw HTTPProblem(.appNotFound, "The project of this key has the number \(principal.appNumber).")
        }
        return principal
    }

    /// - Throws: `debug-file-not-found` for what is no id.
    var debugFileID: UUID {
        get throws {
            guard let id = UUID(uuidString: parameters.get("file") ?? "") else { throw HTTPProblem(.debugFileNotFound) }
            return id
        }
    }
}

extension Request {
    /// A debug id of the query; nil where there is none.
    ///
    /// - Throws: `invalid-parameter`.
    func debugID(_ name: Substring) throws -> DebugID? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let debugID = DebugID(String(text)) else {
            throw HTTPProblem(.invalidParameter, "It must be a debug id: 32 hexadecimal digits, with hyphens or without.", field: String(name))
        }
        return debugID
    }
}
