/// An object that was changed on the device and meanwhile on the server.
public struct Conflict<Value: Storable>: Sendable {
    /// The object as it was before it was changed on the device; nil if it was created there.
    public let original: Value?
    /// The object with the changes that were made on the device.
    public let local: Value
    /// The object as it is on the server now.
    public let server: Stored<Value>
}

/// How a change is handled if the object was also changed on the server since the device read it.
public enum ConflictPolicy<Value: Storable>: Sendable {
    /// The change is dropped and reported (``Offline/failures()``).
    case serverWins
    /// The change is applied to the server's object: the changed fields get the device's values, and the others keep
    /// the server's. Increments and list operations are carried out on the server's values. A new object replaces one
    /// that was created with the same id.
    case clientWins
    /// The closure's result is stored; nil drops the change and reports it. It may be called more than once for a
    /// change. Deletions are not merged: the server wins.
    case merge(@Sendable (Conflict<Value>) throws -> Value?)
}

/// A type-erased policy.
struct ConflictResolver: Sendable {
    /// Whether writes are refused if the object was changed.
    let checksVersion: Bool
    /// A body of PATCH that makes the server's object the merged one; nil: the server wins.
    let merge: @Sendable (_ write: PendingWrite, _ server: JSON) throws -> JSON?

    init<Value: Storable>(_ policy: ConflictPolicy<Value>, tolerance: Tolerance) {
        switch policy {
        case .serverWins: (checksVersion, merge) = (true, { _, _ in nil })
        case .clientWins: (checksVersion, merge) = (false, { _, _ in nil })
        case .merge(let closure):
            checksVersion = true
            merge = { write, server in
                guard write.kind != .delete, let local = write.applied(to: write.original) else { return nil }
                var stored = try Stored<Value>(json: server, tolerance: tolerance)
                let conflict = Conflict(
                    original: try write.original.map { try Stored<Value>(json: $0, tolerance: tolerance).value },
                    local: try Stored<Value>(json: local, tolerance: tolerance).value, server: stored)
                guard let merged = try closure(conflict) else { return nil }
                stored.value = merged
                return .object(try stored.changes(tolerance: tolerance))
            }
        }
    }
}
