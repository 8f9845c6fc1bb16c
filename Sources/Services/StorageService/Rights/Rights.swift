import MartletAPI

/// An identity with the rules of its space, constant during one request.
struct Rights: Sendable {
    let identity: Identity
    /// Nil for the master key, to which no rule applies.
    private let space: AppSchema?
    private var collections: [String: CollectionRules]
    /// What clients may do where no rule says otherwise.
    let spaceAccess: SpaceAccess
    /// Whether the environment is closed to clients.
    let isClosed: Bool
    /// When a `RightsStore` read them; nil for rights of another origin.
    var moment: RightsStore.Moment?

    init(
        identity: Identity, in space: AppSchema? = nil, collections: [String: CollectionRules],
        spaceAccess: SpaceAccess = .open, isClosed: Bool = false
    ) {
        self.identity = identity
        self.space = space
        self.collections = collections
        self.spaceAccess = spaceAccess
        self.isClosed = isClosed
    }

    /// The same rights with the rules of these collections.
    func with(_ collections: [String: CollectionRules]) -> Rights {
        var rights = self
        rights.collections = collections
        return rights
    }

    /// The same rights with other rules of one collection.
    func replacing(_ rules: CollectionRules, of collection: CollectionName) -> Rights {
        with(collections.merging([collection.text: rules]) { $1 })
    }

    static let master = Rights(identity: .master, collections: [:])

    /// False if the collection does not exist, or is newer than these rights.
    func knows(_ collection: CollectionName) -> Bool { identity == .master || collections[collection.text] != nil }

    /// Nil if the collection is unknown, and for the master key.
    func rules(of collection: CollectionName) -> CollectionRules? { collections[collection.text] }

    func access(to collection: CollectionName) -> Access {
        let isOfUsers = collection == .users
        guard identity != .master else { return isOfUsers ? .masterOfUsers : .master }
        return Access(
            identity: identity, rules: collections[collection.text] ?? (isOfUsers ? .ofUsers : .none),
            spaceAccess: spaceAccess, isClosed: isClosed, isOfUsers: isOfUsers,
            ruleScope: space.map { RuleScope(space: $0, collection: collection, collections: collections) })
    }
}
