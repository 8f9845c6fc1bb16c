import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

extension ServiceContext {
    /// - Throws: `invalid-name`.
    var collection: CollectionName {
        get throws { try CollectionName(component("collection")) }
    }

    /// - Throws: `invalid-id`.
    var objectID: ObjectID {
        get throws { try ObjectID(component("id")) }
    }

    /// The app's space, for clients and the app's own server.
    ///
    /// - Throws: `unauthorized`; `forbidden` for keys without access to data.
    var space: AppSchema {
        get throws {
            let principal = try principal
            guard principal.kind == .client || principal.kind == .master else { throw ServiceError(.forbidden) }
            return try AppSchema(principal)
        }
    }

    /// The app's space, for requests by its own server with the master key.
    ///
    /// - Throws: `forbidden`.
    var managedSpace: AppSchema {
        get throws { try AppSchema(master) }
    }

    /// The collection in the path, with the caller's rights.
    func scope(_ rights: RightsStore) async throws -> QueryScope {
        let (collection, space) = (try collection, try space)
        let known = try await rights.rights(of: try principal, in: space, to: [collection])
        return QueryScope(space: space, collection: collection, rights: known)
    }
}
