import MartletAPI
import MartletHTTP

/// An identity with everything its space says about rights, as one request sees them.
struct Rights: Sendable {
    let identity: Identity
    private let collections: [String: CollectionRules]
    /// Whether the environment keeps clients out.
    private let isClosed: Bool

    init(identity: Identity, collections: [String: CollectionRules], isClosed: Bool = false) {
        self.identity = identity
        self.collections = collections
        self.isClosed = isClosed
    }

    /// The same of other collections.
    func with(_ collections: [String: CollectionRules]) -> Rights {
        Rights(identity: identity, collections: collections, isClosed: isClosed)
    }

    static let master = Rights(identity: .master, collections: [:])

    /// False: there is no such collection, or it is newer than these rights.
    func knows(_ collection: CollectionName) -> Bool { identity == .master || collections[collection.text] != nil }

    func access(to collection: CollectionName) -> Access {
        guard identity != .master else { return .master }
        return Access(identity: identity, rules: collections[collection.text] ?? .open, isClosed: isClosed)
    }
}
