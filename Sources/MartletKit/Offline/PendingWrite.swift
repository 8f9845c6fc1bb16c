public import Foundation

/// A write that was done on the device and that the server has not confirmed.
public struct PendingWrite: Sendable, Hashable, Identifiable, Codable {
    public enum Kind: String, Sendable, Codable, CaseIterable { case create, update, delete }

    /// The write's id, which is also its `Idempotency-Key`.
    public internal(set) var id: String
    public let objectID: String
    public internal(set) var kind: Kind
    /// The fields of a new object, or changes in the server's format; nil for a deletion.
    public internal(set) var body: JSON?
    /// When it was done on the device.
    public let date: Date
    /// The entity tag of the state that the user saw. The conflict policy decides whether it is sent.
    var ifMatch: String?
    /// The object as it was before the write.
    var original: JSON?
    /// Whether the write replaces an existing object with the same id.
    var replaces = false
    /// Nil until the write is sent. From then on it is not changed, because the server knows its key.
    var firstSent: Date?
    /// Whether it was first sent with `ifMatch`. The server refuses the same key with another condition.
    var checksVersion: Bool?
    /// Whether the user did not see the merged result of the object's previous write, so that this write conflicts,
    /// too.
    var isStale: Bool?
    /// The number of times that the server failed to carry it out.
    var failures = 0
    /// The number of times that a conflict was resolved.
    var resolutions = 0

    init(
        _ kind: Kind, objectID: String, body: JSON? = nil, date: Date, ifMatch: String? = nil, original: JSON? = nil
    ) {
        // Milliseconds, as they are stored.
        self.date = Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1_000).rounded() / 1_000)
        id = UUID().uuidString.lowercased()
        self.kind = kind
        self.objectID = objectID
        self.body = body
        self.ifMatch = ifMatch
        self.original = original
    }

    /// The write's approximate size in the queue, in bytes.
    var size: Int { 200 + (body?.data.count ?? 0) + (original?.data.count ?? 0) }

    /// The object after the write; nil if it no longer exists.
    func applied(to object: JSON?) -> JSON? {
        switch kind {
        case .delete: return nil
        case .update:
            // The server will refuse changes that cannot be applied; until then, the object is shown unchanged.
            guard let object, let body else { return object }
            return (try? FieldOperations.apply(body, to: object)) ?? object
        case .create:
            // Created by an attempt whose answer was lost.
            if let object, !replaces { return object }
            let time = JSON.string(RFC3339.text(date))
            var new = body ?? [:]
            for (name, value): (String, JSON) in [
                ("_id", .string(objectID)), ("_version", 0), ("created", time), ("updated", time), ("deleted", .null),
            ] { new[name] = value }
            return new
        }
    }
}

extension PendingWrite {
    enum Merged: Hashable {
        /// A single write replaces both.
        case one(PendingWrite)
        /// Neither is needed, because the object was created and deleted before it was sent.
        case nothing
        /// Both are needed, one after the other.
        case both
    }

    /// Combines this write and the object's next one.
    func merged(with next: PendingWrite) -> Merged {
        guard firstSent == nil else { return .both }
        var write = self
        switch (kind, next.kind) {
        case (.create, .update):
            guard let body, let changes = next.body,
                let merged = try? FieldOperations.apply(changes, to: body, isStrict: true)
            else { return .both }
            write.body = merged
        case (.update, .update):
            guard let body, let changes = next.body, let merged = FieldOperations.merged(body, changes) else {
                return .both
            }
            write.body = merged
        case (.update, .delete):
            write.kind = .delete
            write.body = nil
        case (.create, .delete):
            // An object on the server that the write replaces must be deleted, too.
            guard !replaces else { return .both }
            return .nothing
        case (.create, .create), (.update, .create), (.delete, _): return .both
        }
        return .one(write)
    }
}
