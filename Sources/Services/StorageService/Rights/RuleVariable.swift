import MartletAPI
import MartletCore

/// A variable in a rule's filter.
enum RuleVariable: Sendable, Equatable {
    case userID
    case roles
    /// The users whom the caller has blocked, and those who have blocked the caller.
    case blocked
    case blockedBy
    case now
    case environment
    /// A field of the caller's public profile, or `emailVerified`.
    case profile(FieldPath)
    /// A field of the object before or after a write.
    case field(State, FieldPath)

    enum State: String, Sendable {
        case old = "$old."
        case new = "$new."
    }

    /// Nil for text that is not a variable.
    ///
    /// - Throws: `invalid-filter` for an unknown variable.
    init?(_ text: String) throws {
        guard text.begins(with: "$"), !text.hasPrefix("$$") else { return nil }
        if let (state, rest) = Self.state(text), let path = try? FieldPath(rest),
            SystemField(rawValue: path.parts[0]) == nil
        {
            self = .field(state, path)
            return
        }
        switch text {
        case "$user.id": self = .userID
        case "$user.roles": self = .roles
        case "$user.blocked": self = .blocked
        case "$user.blockedBy": self = .blockedBy
        case "$now": self = .now
        case "$environment": self = .environment
        default:
            guard let path = Self.profilePath(text) else { throw Self.unknown(text) }
            self = .profile(path)
        }
    }

    /// Splits `$new.owner` into the state and `owner`; nil for any other text.
    static func state(_ text: String) -> (State, String)? {
        for state in [State.old, .new] where text.hasPrefix(state.rawValue) {
            return (state, String(text.dropFirst(state.rawValue.count)))
        }
        return nil
    }

    /// The field of the profile that `$user.<field>` names; nil for any other text.
    static func profilePath(_ text: String) -> FieldPath? {
        guard text.hasPrefix("$user."), let path = try? FieldPath(String(text.dropFirst(6))),
            !["id", "roles", "blocked", "blockedBy"].contains(path.parts[0]),
            SystemField(rawValue: path.parts[0]) == nil
        else { return nil }
        return path
    }

    private static func unknown(_ text: String) -> ServiceError {
        let detail =
            text.hasPrefix("$user.")
            ? """
            A rule can use only these values of a user: $user.id, $user.roles, $user.blocked, $user.blockedBy, \
            $user.emailVerified and $user.<field of the public profile>.
            """
            : """
            "\(text.prefix(40))" is not a variable. Expected $user.id, $user.roles, $user.<field>, $now, $environment, \
            $old.<field> or $new.<field>. Text that begins with $ is written with $$.
            """
        return ServiceError(.invalidFilter, detail)
    }
}

/// What the variables of a rule's filter stand for, and which states of the object there are.
struct ConditionContext: Sendable {
    /// The states of an object that a rule can name.
    enum States: Sendable {
        /// An object that is read, or one inside another condition.
        case one
        case created, updated, deleted
        /// The result of an update, for a condition that does not mention states.
        case result
    }

    let identity: Identity
    let environment: AppEnvironment
    let states: States
    /// Pointers that dotted names go through.
    var hops: [RuleCondition.Hop] = []

    /// The same variables for other objects, without the states and Pointers of this one.
    var inner: ConditionContext {
        ConditionContext(
            identity: identity, environment: environment, states: .one, hops: hops.filter { $0.query != nil })
    }

    /// The same variables for the filter of a query of this collection inside the condition.
    func inner(of collection: CollectionName) -> ConditionContext {
        var context = inner
        context.hops += hops.filter { $0.query == collection }.map {
            RuleCondition.Hop(path: $0.path, collection: $0.collection)
        }
        return context
    }

    /// The same variables for objects of the collection to which the Pointer at `path` points.
    func pastPointer(at path: String) -> ConditionContext {
        var context = inner
        context.hops += hops.filter { $0.query == nil && $0.path.hasPrefix(path + ".") }.map {
            RuleCondition.Hop(path: String($0.path.dropFirst(path.count + 1)), collection: $0.collection)
        }
        return context
    }

    /// The value with variables replaced by single values.
    ///
    /// - Throws: `invalid-filter` for an unknown variable, and for one that is not a single value.
    func resolved(_ value: JSONValue, field: String) throws -> JSONValue {
        switch value {
        case .null, .bool, .number: return value
        case .array(let elements): return .array(try elements.map { try resolved($0, field: field) })
        case .object(let members):
            return .object(try members.map { .init($0.name, try resolved($0.value, field: field)) })
        case .string(let text):
            if text.hasPrefix("$$") { return .string(String(text.dropFirst())) }
            switch try variable(text, field: field) {
            case nil: return value
            case .userID: return identity.userID.map { .string($0) } ?? .null
            case .environment: return .string(environment.rawValue)
            case .roles, .blocked, .blockedBy, .now, .profile, .field:
                throw ServiceError(.invalidFilter, "\(text.prefix(80)) cannot be used here.", field: field)
            }
        }
    }

    /// Nil for text that is not a variable.
    func variable(_ text: String, field: String) throws -> RuleVariable? {
        do {
            return try RuleVariable(text)
        } catch let problem as ServiceError {
            throw ServiceError(problem.code, problem.detail, field: field)
        }
    }

    /// The Pointer through which a dotted name goes, and the rest of the name; nil if there is none.
    func hop(in name: String) -> (hop: RuleCondition.Hop, rest: String)? {
        // The shortest one: longer ones belong to the collection to which it points.
        let hop = hops.filter { $0.query == nil && name.hasPrefix($0.path + ".") }.min {
            $0.path.utf8.count < $1.path.utf8.count
        }
        return hop.map { ($0, String(name.dropFirst($0.path.count + 1))) }
    }
}
