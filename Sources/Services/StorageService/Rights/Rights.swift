import MartletAPI
import MartletHTTP

/// An identity with everything its space says about rights, as one request sees them.
struct Rights: Sendable {
    let identity: Identity
    private let collections: [String: CollectionRules]

    init(identity: Identity, collections: [String: CollectionRules]) {
        self.identity = identity
        self.collections = collections
    }

    static let master = Rights(identity: .master, collections: [:])

    /// False: there is no such collection, or it is newer than these rights.
    func knows(_ collection: CollectionName) -> Bool { identity == .master || collections[collection.text] != nil }

    func access(to collection: CollectionName) -> Access {
        Access(identity: identity, rules: identity == .master ? .open : collections[collection.text] ?? .open)
    }
}
