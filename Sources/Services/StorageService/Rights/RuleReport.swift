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

    /// The kinds of caller who may perform the operation, beginning with the largest. A kind is only listed if it may
    /// do more than the kinds before it. If the list is empty, only the master key may. At most `maximumNames` users
    /// and roles are checked.
    func kinds(of operation: CollectionRules.Operation) -> [Kind] {
        kinds("rules.\(operation.rawValue)", rules.grantees(operation), { $0.reach(of: operation) }) {
            .none.replacing(operation, with: $0)
        }
    }

    /// The kinds of caller who may read a field that is hidden from others, of the objects that they may read.
    func readers(of field: FieldName) -> [Kind] {
        kinds("hidden.\(field.text)", rules.hidden?[field], { $0.reach(ofHidden: field) }) {
            CollectionRules(hidden: [field: $0])
        }
    }

    /// - Parameters:
    ///   - reach: The objects that are open to an identity.
    ///   - alone: The rules of a collection that has no other list than the given one.
    private func kinds(
        _ place: String, _ grantees: Grantees?, _ reach: (Access) -> Access.Reach,
        alone: (Grantees) -> CollectionRules
    ) -> [Kind] {
        var kinds: [Kind] = []
        func add(_ who: String, _ identity: Identity, over others: Access.Reach) -> Access.Reach {
            let own = reach(access(identity, rules, spaceAccess))
            guard own > others else { return others }
            let entries = grantees?.entries.enumerated().compactMap { number, entry in
                reach(access(identity, alone(Grantees([entry])), .open)) > .none ? "\(place).\(number)" : nil
            }
            kinds.append(Kind(who: who, objects: own, by: entries ?? ["no rule"]))
            return own
        }
        // No user has an empty id.
        let anyone = add("anyone", .anonymous, over: .none)
        let users = add("authenticated", .user("", roles: []), over: anyone)
        guard users < .all else { return kinds }
        for name in names(grantees) {
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
            let reach = access(.anonymous, rules, spaceAccess).reach(of: operation)
            guard reach > .none else { return nil }
            let place = [collection?.text, "rules", operation.rawValue].compactMap(\.self).joined(separator: ".")
            let lack = rules.grantees(operation) == nil ? "There is no rule: anyone" : "Anyone"
            return Warning(
                place: place,
                message: "\(lack) who has the app may \(operation.phrase(reach)), even without signing in.")
        }
    }

    private func access(_ identity: Identity, _ rules: CollectionRules, _ spaceAccess: SpaceAccess) -> Access {
        var access = Access(identity: identity, rules: rules, spaceAccess: spaceAccess)
        access.ignoresLimits = true
        return access
    }

    /// The users and roles in the list, then those in the rules for reading. The latter matter if, for example,
    /// everyone may change what they can read: then only the rules for reading name anyone.
    private func names(_ grantees: Grantees?) -> ArraySlice<String> {
        var known: Set<String> = ["authenticated"]
        return [grantees, rules.grantees(.get), rules.grantees(.find)].flatMap { list in
            (list?.allNames ?? []).filter(Grantee.isUserOrRole).sorted().filter { known.insert($0).inserted }
        }.prefix(Self.maximumNames)
    }
}

extension CollectionRules.Operation {
    fileprivate func phrase(_ reach: Access.Reach) -> String {
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
