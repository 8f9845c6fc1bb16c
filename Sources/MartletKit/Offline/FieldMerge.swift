/// How to merge a field that was changed both on the device and on the server. See
/// ``ConflictPolicy/mergeFields(_:)``.
public struct FieldMerge<Value: Storable>: Sendable {
    fileprivate let apply: @Sendable (_ merged: inout Value, _ conflict: Conflict<Value>) throws -> Void

    /// - Parameter merge: Called with the field's value before the changes, on the device and on the server.
    ///   `original` is nil if the object was created on both sides.
    public static func field<Member: Equatable & Sendable>(
        _ path: any WritableKeyPath<Value, Member> & Sendable,
        _ merge: @escaping @Sendable (_ original: Member?, _ local: Member, _ server: Member) throws -> Member
    ) -> FieldMerge {
        FieldMerge { merged, conflict in
            let original = conflict.original?[keyPath: path]
            let (local, server) = (conflict.local[keyPath: path], conflict.server.value[keyPath: path])
            guard local != original, server != original, local != server else { return }
            merged[keyPath: path] = try merge(original, local, server)
        }
    }
}

extension ConflictPolicy {
    /// Decides field by field: a field that only one side changed gets that side's value. If both changed it, its rule
    /// decides; without a rule, the server's value stays. Deletions are not merged: the server wins.
    ///
    /// ```swift
    /// let notes = try await martlet.offline.collection(
    ///     Note.self,
    ///     conflicts: .mergeFields(.field(\.likes) { before, mine, theirs in theirs + mine - (before ?? 0) }))
    /// ```
    public static func mergeFields(_ rules: FieldMerge<Value>...) -> ConflictPolicy {
        .merge { conflict in
            var merged = try threeWay(conflict)
            for rule in rules { try rule.apply(&merged, conflict) }
            return merged
        }
    }

    /// The server's object with the fields that only the device changed.
    private static func threeWay(_ conflict: Conflict<Value>) throws -> Value {
        let original = try conflict.original.map { try JSON(encoding: $0) } ?? [:]
        let (local, server) = (try JSON(encoding: conflict.local), try JSON(encoding: conflict.server.value))
        var merged = server
        let names = Set((original.objectValue ?? [:]).keys).union((local.objectValue ?? [:]).keys)
        for name in names where server[name] == original[name] { merged[name] = local[name] }
        return try merged.decoded(as: Value.self)
    }
}
