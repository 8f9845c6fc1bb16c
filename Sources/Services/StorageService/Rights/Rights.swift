import MartletAPI

/// An identity with the rules of its space, constant during one request.
struct Rights: Sendable {
    let identity: Identity
    /// Nil for the master key, which no rule concerns.
    private let space: AppSchema?
    private let collections: [String: CollectionRules]
    /// Whether the environment is closed to clients.
    private let isClosed: Bool

    init(
        identity: Identity, in space: AppSchema? = nil, collections: [String: CollectionRules], isClosed: Bool = false
    ) {
        self.identity = identity
        self.space = space
        self.collections = collections
        self.isClosed = isClosed
    }

    /// The same rights with the rules of these collections.
    func with(_ collections: [String: CollectionRules]) -> Rights {
        Rights(identity: identity, in: space, collections: collections, isClosed: isClosed)
    }

    static let master = Rights(identity: .master, collections: [:])

    /// False if the collection does not exist, or is newer than these rights.
    func knows(_ collection: CollectionName) -> Bool { identity == .master || collections[collection.text] != nil }

    func access(to collection: CollectionName) -> Access {
        let isOfUsers = collection == .users
        guard identity != .master else { return isOfUsers ? .masterOfUsers : .master }
        return Access(
            identity: identity, rules: collections[collection.text] ?? .open, isClosed: isClosed, isOfUsers: isOfUsers,
            place: space.map { RulePlace(space: $0, collection: collection, collections: collections) })
    }
}
