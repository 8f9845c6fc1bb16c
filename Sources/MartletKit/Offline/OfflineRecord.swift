import Foundation

/// A change of the data that the device keeps of a collection. The lines of the ``Journal`` are lists of records.
enum OfflineRecord: Sendable {
    /// From now on, the device keeps the objects that match this filter.
    case filter(JSON)
    /// A page of the change feed.
    case page(Page)
    /// Everything is read again. The last page drops the objects that none of the pages contains.
    case restart
    /// The user may no longer see any object of the collection.
    case wipe
    /// A waiting write: a new one, a changed one, or the replacement of another.
    case write(PendingWrite, insteadOf: String? = nil)
    /// The time at which the device began to send a write, with or without a check of the object's version; nil if it
    /// has not been sent.
    case sending(id: String, since: Date?, checksVersion: Bool)
    /// A write that no longer waits.
    case done(id: String)
    /// An object as the server returned it; nil if there is none.
    case object(id: String, JSON?)

    struct Page: Sendable {
        var changed: [JSON]
        var deleted: [String]
        var cursor: String?
        var hasMore: Bool
        var time: Date
    }

    var json: JSON {
        get throws {
            switch self {
            case .filter(let filter): return ["filter": filter]
            case .restart: return ["restart": true]
            case .wipe: return ["wipe": true]
            case .write(let write, let other):
                return .members(["write": try JSON(encoding: write), "insteadOf": other.map(JSON.string)])
            case .sending(let id, let time, let checksVersion):
                return [
                    "sending": .string(id), "since": time.map { .string(RFC3339.text($0)) } ?? .null,
                    "checksVersion": .bool(checksVersion),
                ]
            case .done(let id): return ["done": .string(id)]
            case .object(let id, let object): return ["id": .string(id), "object": object ?? .null]
            case .page(let page):
                return [
                    "changed": .array(page.changed), "deleted": .array(page.deleted.map(JSON.string)),
                    "cursor": page.cursor.map(JSON.string) ?? .null, "more": .bool(page.hasMore),
                    "time": .string(RFC3339.text(page.time)),
                ]
            }
        }
    }

    /// Nil if a newer version wrote it.
    init?(_ json: JSON) {
        if let changed = json["changed"]?.arrayValue {
            self = .page(
                Page(
                    changed: changed, deleted: (json["deleted"]?.arrayValue ?? []).compactMap(\.stringValue),
                    cursor: json["cursor"]?.stringValue, hasMore: json["more"]?.boolValue ?? true,
                    time: json["time"]?.dateValue ?? .distantPast))
        } else if let filter = json["filter"] {
            self = .filter(filter)
        } else if json["restart"] != nil {
            self = .restart
        } else if json["wipe"] != nil {
            self = .wipe
        } else if let write = json["write"], let write = try? write.decoded(as: PendingWrite.self) {
            self = .write(write, insteadOf: json["insteadOf"]?.stringValue)
        } else if let id = json["sending"]?.stringValue {
            self = .sending(
                id: id, since: json["since"]?.dateValue, checksVersion: json["checksVersion"]?.boolValue ?? true)
        } else if let id = json["done"]?.stringValue {
            self = .done(id: id)
        } else if let id = json["id"]?.stringValue, let object = json["object"] {
            self = .object(id: id, object.isNull ? JSON?.none : object)
        } else {
            return nil
        }
    }
}
