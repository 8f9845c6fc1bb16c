import MartletAPI
import MartletCore
import MartletHTTP

/// An entry of a rule: `{"who":["authenticated"],"where":{"state":"open"}}`. It applies to those callers, to the
/// objects that match the filter and, in a rule for updates, to changes within its limits.
///
/// In the filter, a string that begins with `$` is a variable (`RuleVariable`), unless it begins with `$$`, which
/// stands for text that begins with `$`.
struct RuleCondition: Sendable, Equatable {
    /// The position in the list of grantees.
    let number: Int
    let who: [String]
    let filter: JSONValue
    /// The Pointers that dotted names of the filter go through. Nil if the rule does not say.
    let through: [Hop]?
    /// What a change may consist of; nil for anything.
    let limits: ChangeLimits?
    /// Whether the filter mentions the user. The entry then applies only to callers who are signed in.
    let namesUser: Bool
    /// Whether the filter mentions a field of the user's profile. The entry then applies only to callers who have one.
    let readsProfile: Bool
    /// Whether the filter itself says what must hold before a write and what after it.
    let comparesStates: Bool
    /// Whether the filter depends on whom users have blocked.
    let readsBlocks: Bool
    /// Other collections that the filter reads.
    let collections: Set<CollectionName>

    /// `"event":"Events"`: the Pointer at the path of the object leads to that collection. In a query of `Messages`
    /// inside the filter: `"$Messages.event":"Events"`.
    struct Hop: Sendable, Equatable {
        let path: String
        let collection: CollectionName
        /// The collection whose queries in the filter contain the path; nil for a path of the object itself.
        var query: CollectionName?

        var name: String { Self.name(path, query) }

        static func name(_ path: String, _ query: CollectionName?) -> String {
            query.map { "$\($0.text).\(path)" } ?? path
        }
    }

    /// - Throws: `invalid-body` naming a member.
    init(_ value: JSONValue, number: Int) throws {
        let body = try BodyFields(value, ["who", "where", "through", "fields", "operations"])
        let who = try body.strings("who", upTo: Grantee.maximumListed) ?? ["*"]
        let limits = try ChangeLimits(fields: body.strings("fields", upTo: 100), operations: body["operations"])
        // An entry that names callers or limits changes needs no condition on the object.
        let isEnough = body["who"] != nil || limits != nil
        guard let filter = body["where"] ?? (isEnough ? .object([]) : nil), case .object = filter else {
            throw ServiceError(
                .invalidBody, "Expected a filter, which is an object, found \(body["where"]?.phrase ?? "nothing").",
                field: "where")
        }
        self.init(number: number, who: who, filter: filter, through: try Self.hops(body["through"]), limits: limits)
    }

    /// - Parameter comparesStates: For a part of an entry, whether the whole entry compares states; nil for a whole
    ///   entry.
    private init(
        number: Int, who: [String], filter: JSONValue, through: [Hop]?, limits: ChangeLimits?,
        comparesStates: Bool? = nil
    ) {
        (self.number, self.who, self.filter, self.through, self.limits) = (number, who, filter, through, limits)
        var references = FilterReferences()
        references.read(filter)
        if let limits { references.read(limits.json) }
        namesUser = references.namesUser
        readsProfile = references.readsProfile
        readsBlocks = references.readsBlocks
        self.comparesStates = comparesStates ?? references.comparesStates
        collections = references.collections.union((through ?? []).map(\.collection))
    }

    /// Whether it restricts neither objects nor changes.
    var isEmpty: Bool { filter == .object([]) && limits == nil }

    /// The fields of the object itself that must name the user: `{"owner":"$user.id"}`.
    var userFields: [String] {
        guard case .object(let members) = filter else { return [] }
        return members.compactMap { member in
            let user = JSONValue.string("$user.id")
            let name = RuleVariable.state(member.name)?.1 ?? member.name
            guard member.value == user || member.value["$eq"] == user, !name.begins(with: "$"),
                SystemField(rawValue: name) == nil,
                !(through ?? []).contains(where: { $0.query == nil && name.hasPrefix($0.path + ".") })
            else { return nil }
            return name
        }
    }

    /// The same entry with the collections to which its Pointers point.
    func through(_ hops: [Hop]) -> RuleCondition {
        RuleCondition(number: number, who: who, filter: filter, through: hops, limits: limits)
    }

    /// The parts that must all hold, by name: `who`, each member of the filter (`where.state`), and the limits on
    /// changes (`fields`). Each is an entry that restricts nothing else.
    var parts: [(name: String, entry: RuleCondition)] {
        func part(who: [String] = ["*"], filter: JSONValue = .object([]), limits: ChangeLimits? = nil) -> RuleCondition
        {
            RuleCondition(
                number: number, who: who, filter: filter, through: through, limits: limits,
                comparesStates: comparesStates)
        }
        guard case .object(let members) = filter else { return [] }
        var parts = [(name: "who", entry: part(who: who))]
        for member in members { parts.append(("where.\(member.name)", part(filter: .object([member])))) }
        if let limits { parts.append(("fields", part(limits: limits))) }
        return parts
    }

    private static func hops(_ value: JSONValue?) throws -> [Hop]? {
        guard let value, value != .null else { return nil }
        let refusal = ServiceError(
            .invalidBody, "Expected an object of Pointers' paths, each with the name of a collection.", field: "through"
        )
        guard case .object(let members) = value, members.count <= FilterCompiler.maximumSubqueries else {
            throw refusal
        }
        return try members.map { member in
            guard case .string(let name) = member.value, let collection = try? CollectionName(name),
                let (query, path) = try? Self.place(member.name)
            else { throw refusal }
            return Hop(path: path.text, collection: collection, query: query)
        }
    }

    /// Splits the name of a hop.
    private static func place(_ name: String) throws -> (query: CollectionName?, path: FieldPath) {
        guard name.begins(with: "$"), let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
            return (nil, try FieldPath(name))
        }
        let (query, path) = (name[..<dot].dropFirst(), name[name.utf8.index(after: dot)...])
        return (try CollectionName(String(query)), try FieldPath(String(path)))
    }

    /// The JSON form that `init` reads.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("who", .array(who.map { .string($0) })), .init("where", filter)]
        if let through {
            members.append(
                .init("through", .object(through.map { .init($0.name, .string($0.collection.text)) })))
        }
        if case .object(let limits)? = limits?.json { members += limits }
        return .object(members)
    }

    /// What a filter mentions, at any depth.
    private struct FilterReferences {
        var namesUser = false
        var readsProfile = false
        var readsBlocks = false
        var comparesStates = false
        var collections: Set<CollectionName> = []

        mutating func read(_ value: JSONValue) {
            switch value {
            case .string(let text): read(text: text)
            case .array(let elements): for element in elements { read(element) }
            case .object(let members):
                for member in members {
                    read(text: member.name)
                    add(collection: member.query?["className"])
                    if member.name == "$relatedTo" || member.name.hasSuffix(".$relatedTo") {
                        add(collection: member.value["object"]?["className"])
                    }
                    read(member.value)
                }
            case .null, .bool, .number: break
            }
        }

        private mutating func add(collection name: JSONValue?) {
            guard case .string(let name)? = name, let collection = try? CollectionName(name) else { return }
            collections.insert(collection)
        }

        private mutating func read(text: String) {
            guard text.begins(with: "$") else { return }
            // A caller who is not signed in has blocked nobody.
            if text == "$user.blocked" || text == "$user.blockedBy" {
                readsBlocks = true
                return
            }
            if text.hasPrefix("$user.") { namesUser = true }
            if RuleVariable.profilePath(text) != nil { readsProfile = true }
            if RuleVariable.state(text) != nil { comparesStates = true }
        }
    }
}

extension JSONValue.Member {
    /// The query of an operator of a filter that has one.
    var query: JSONValue? {
        switch name {
        case "$inQuery", "$notInQuery": value
        case "$select", "$dontSelect": value["query"]
        default: nil
        }
    }
}
