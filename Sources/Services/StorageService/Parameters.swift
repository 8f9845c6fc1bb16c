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

    /// The app's space. The route has checked that the caller may use it.
    ///
    /// - Throws: `unauthorized`.
    var space: AppSchema {
        get throws { try AppSchema(principal) }
    }

    /// The collection in the path, with the caller's rights.
    ///
    /// - Parameter operations: What the request needs, which is not refused because of outdated rights.
    func scope(_ rights: RightsStore, for operations: Set<Access.Operation> = []) async throws -> QueryScope {
        let (collection, space) = (try collection, try space)
        let known = try await rights.rights(of: try principal, in: space, for: [collection: operations])
        return QueryScope(space: space, collection: collection, rights: known)
    }

    /// The same scope with the caller's current rights, for a write after receiving a body or calling hooks. Reads the
    /// rights again only if they may have changed meanwhile.
    func refreshed(_ scope: QueryScope, _ rights: RightsStore) async throws -> QueryScope {
        rights.isCurrent(scope.rights) ? scope : try await self.scope(rights)
    }
}
