import MartletAPI
import MartletCore

/// Which kinds of caller the rules of a collection admit to each operation, as `Access` decides it.
struct RuleReport: Sendable {
    /// Callers who may do something with all or some objects.
    struct Kind: Encodable, Sendable {
        /// `anyone`, `authenticated`, a user's id or `role:<name>`.
        var who: String
        var objects: Access.Reach
        /// The entries that admit them, such as `rules.find.0`, or `no rule`.
        var by: [String]
    }

    /// What is open to anyone who has the app.
    struct Warning: Encodable, Sendable {
        var place: String
        var message: String

        var json: JSONValue { .object([.init("place", .string(place)), .init("message", .string(message))]) }
    }

    static let maximumNames = 50

    let rules: CollectionRules
    let spaceAccess: SpaceAccess

    /// The kinds of caller who may, from the largest. Each one only if it may do more than those before it. An empty
    /// list means nobody but the master key. At most `maximumNames` users and roles are looked at.
    func kinds(of operation: CollectionRules.Operation) -> [Kind] {
        var kinds: [Kind] = []
        func add(_ who: String, _ identity: Identity, over reach: Access.Reach) -> Access.Reach {
            let own = access(identity).reach(of: operation)
            guard own > reach else { return reach }
            kinds.append(Kind(who: who, objects: own, by: entries(of: operation, admitting: identity)))
            return own
        }
        // No user has an empty id.
        let anyone = add("anyone", .anonymous, over: .none)
        let users = add("authenticated", .user("", roles: []), over: anyone)
        for name in names(of: operation) {
            let identity =
                name.hasPrefix("role:")
                ? Identity.user("", roles: [String(name.dropFirst(5))]) : Identity.user(name, roles: [])
            _ = add(name, identity, over: users)
        }
        return kinds
    }

    /// What anyone who has the app may do, without signing in.
    func warnings(in collection: CollectionName? = nil) -> [Warning] {
        CollectionRules.Operation.allCases.compactMap { operation in
            let reach = access(.anonymous).reach(of: operation)
            guard reach > .none else { return nil }
            let place = [collection?.text, "rules", operation.rawValue].compactMap(\.self).joined(separator: ".")
            let lack = rules.grantees(operation) == nil ? "There is no rule: anyone" : "Anyone"
            return Warning(
                place: place, message: "\(lack) who has the app may \(operation.deed(reach)), also without signing in.")
        }
    }

    private func access(_ identity: Identity) -> Access {
        var access = Access(identity: identity, rules: rules, spaceAccess: spaceAccess)
        access.ignoresLimits = true
        return access
    }

    private func names(of operation: CollectionRules.Operation) -> [String] {
        let names = Set(rules.grantees(operation)?.allNames ?? [])
        return Array(
            names.filter(Grantee.isUserOrRole).subtracting(["authenticated"]).sorted().prefix(Self.maximumNames))
    }

    private func entries(of operation: CollectionRules.Operation, admitting identity: Identity) -> [String] {
        guard let grantees = rules.grantees(operation) else { return ["no rule"] }
        return grantees.entries.enumerated().compactMap { number, entry in
            var access = Access(identity: identity, rules: .none.replacing(operation, with: Grantees([entry])))
            access.ignoresLimits = true
            return access.reach(of: operation) > .none ? "rules.\(operation.rawValue).\(number)" : nil
        }
    }
}

extension CollectionRules.Operation {
    fileprivate func deed(_ reach: Access.Reach) -> String {
        let objects = reach == .all ? "every object" : "some objects"
        return switch self {
        case .find: "list \(objects)"
        case .get: "read \(objects)"
        case .count: "count \(objects)"
        case .create: reach == .all ? "create objects" : "create some objects"
        case .update: "change \(objects)"
        case .delete: "delete \(objects)"
        case .addField: "add fields"
        }
    }
}
