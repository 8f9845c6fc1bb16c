import MartletAPI
import MartletCore
import MartletHTTP

/// The collection `_User`: the public profiles of the app's users. Reads, rules, indexes and streams treat it like any
/// other. Only auth writes it.
extension CollectionName {
    /// - Throws: `forbidden` for `_User`.
    func requireOfApp() throws {
        guard self != .users else {
            throw ServiceError(
                .forbidden,
                "_User belongs to auth: it cannot be dropped, renamed, imported or given a schema or before-hooks.")
        }
    }
}

extension Access {
    /// The refusal of writes to `_User`.
    static let writtenByAuth = ServiceError(
        .forbidden,
        "Only auth writes _User. Users change their profile by PATCH auth/me, your server by PATCH auth/users/{id}.")
}

extension ServiceContext {
    /// The collection in the path, which must not be `_User`.
    ///
    /// - Throws: `invalid-name`, `forbidden`.
    var collectionOfApp: CollectionName {
        get throws {
            let name = try collection
            try name.requireOfApp()
            return name
        }
    }
}

extension CollectionRules {
    private static let writes: [Operation] = [.create, .update, .delete, .addField]

    /// The rules of `_User` unless the app sets others.
    static let ofUsers = CollectionRules(
        rules: Dictionary(
            uniqueKeysWithValues: Operation.allCases.map {
                ($0, Grantees(writes.contains($0) ? [] : [.name("authenticated")]))
            }))

    /// The rules as they are stored for a collection. Those of `_User` always say who may read, and let nobody write.
    ///
    /// - Throws: `invalid-body` naming the field.
    func completed(for collection: CollectionName) throws -> CollectionRules {
        guard collection == .users else { return self }
        guard defaults == nil else {
            throw ServiceError(.invalidBody, "Objects of _User have no readers and writers.", field: "defaults")
        }
        guard presets == nil else {
            throw ServiceError(.invalidBody, "Only auth writes _User, so no rule can set its fields.", field: "set")
        }
        for operation in Self.writes {
            guard rules?[operation]?.entries.isEmpty ?? true else {
                throw ServiceError(
                    .invalidBody, "Only auth writes _User, so this must be [] or absent.",
                    field: "rules.\(operation.rawValue)")
            }
        }
        var completed = self
        completed.rules = (Self.ofUsers.rules ?? [:]).merging(rules ?? [:]) { $1 }
        return completed
    }
}
