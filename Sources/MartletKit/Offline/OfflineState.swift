import Foundation

/// The data that the device keeps of a collection: the server's objects, and the waiting writes.
///
/// It is changed only by records, so the same records restore the same state after a restart.
struct OfflineState: Sendable {
    /// The filter of the objects kept.
    private(set) var filter: JSON = [:]
    /// The position at which the change feed continues; nil for its beginning.
    private(set) var cursor: String?
    /// The server's objects, without the waiting writes.
    private(set) var base: [String: JSON] = [:]
    /// The waiting writes, in the order in which they were done.
    private(set) var writes: [PendingWrite] = []
    /// The approximate size of the waiting writes, in bytes.
    private(set) var outboxSize = 0
    /// When the collection was last read from beginning to end.
    private(set) var fullySynced: Date?

    /// The ids of objects that may have changed since this was last emptied.
    private(set) var touched: Set<String> = []

    /// The ids of objects that were not read again yet since the feed restarted.
    private var unconfirmed: Set<String> = []
    /// The ids of objects known from the answer to a write that the feed has not mentioned yet. If the feed does not
    /// mention them when it is read next, they no longer exist: it leaves out objects that were created and deleted
    /// since its position.
    private var unmentioned: Set<String> = []
    /// Whether the feed is being read from its beginning and its end has not been reached.
    private(set) var isRestarting = true
    /// Objects with waiting writes, as the app sees them; nil for deleted ones.
    private var shown: [String: JSON?] = [:]

    mutating func apply(_ record: OfflineRecord) {
        switch record {
        case .filter(let new):
            if new != filter { restart() }
            filter = new
        case .restart: restart()
        case .wipe:
            touched.formUnion(base.keys)
            base = [:]
            unmentioned = []
            restart()
            showAgain()
        case .page(let page): apply(page)
        case .write(let write, let other):
            outboxSize += write.size
            if let index = writes.firstIndex(where: { $0.id == other ?? write.id }) {
                outboxSize -= writes[index].size
                writes[index] = write
            } else {
                writes.append(write)
            }
            show(write.objectID)
        case .sending(let id, let time, let checksVersion):
            guard let index = writes.firstIndex(where: { $0.id == id }) else { return }
            writes[index].firstSent = time
            writes[index].checksVersion = time.map { _ in checksVersion }
        case .done(let id):
            guard let index = writes.firstIndex(where: { $0.id == id }) else { return }
            let write = writes.remove(at: index)
            outboxSize -= write.size
            show(write.objectID)
        case .object(let id, let object):
            if base[id] == nil, object != nil { unmentioned.insert(id) }
            set(id, object)
            show(id)
        }
    }

    private mutating func restart() {
        cursor = nil
        isRestarting = true
        unconfirmed = Set(base.keys)
    }

    private mutating func apply(_ page: OfflineRecord.Page) {
        for object in page.changed {
            guard let id = object["_id"]?.stringValue else { continue }
            unmentioned.remove(id)
            // A page may be older than the answer to a write, so an older state is skipped. After a restart of the feed
            // it is accepted, because the server may have been restored from a backup.
            if !unconfirmed.contains(id), let known = base[id], Self.isOlder(object, than: known) { continue }
            set(id, object)
        }
        for id in page.deleted { set(id, nil) }
        cursor = page.cursor
        if !page.hasMore { drop(at: page.time) }
        showAgain()
    }

    private static func isOlder(_ new: JSON, than old: JSON) -> Bool {
        // Times have a fixed width.
        guard let newTime = new["updated"]?.stringValue, let oldTime = old["updated"]?.stringValue else { return false }
        if newTime != oldTime { return newTime < oldTime }
        return (new["_version"]?.intValue ?? 0) < (old["_version"]?.intValue ?? 0)
    }

    /// Drops the objects that the feed should have mentioned by its end.
    private mutating func drop(at time: Date) {
        guard isRestarting else {
            for id in unmentioned { set(id, nil) }
            return
        }
        // Objects written while everything was read again come with the next changes.
        for id in unconfirmed { set(id, nil) }
        isRestarting = false
        fullySynced = time
    }

    private mutating func set(_ id: String, _ object: JSON?) {
        base[id] = object
        unconfirmed.remove(id)
        if object == nil { unmentioned.remove(id) }
        touched.insert(id)
    }

    private mutating func showAgain() {
        for id in Set(shown.keys) { show(id) }
    }

    private mutating func show(_ id: String) {
        touched.insert(id)
        let own = writes.filter { $0.objectID == id }
        if own.isEmpty {
            shown.removeValue(forKey: id)
        } else {
            shown.updateValue(own.reduce(base[id]) { $1.applied(to: $0) }, forKey: id)
        }
    }
}

extension OfflineState {
    /// The object as the app sees it.
    func object(_ id: String) -> JSON? {
        if let shown = shown[id] { return shown }
        return base[id]
    }

    /// The objects that may have changed since the last call, as the app sees them; nil for those that no longer exist.
    mutating func takeTouched() -> [String: JSON?] {
        defer { touched = [] }
        return Dictionary(uniqueKeysWithValues: touched.map { ($0, object($0)) })
    }

    /// The object's last waiting write.
    func lastWrite(of id: String) -> PendingWrite? { writes.last { $0.objectID == id } }

    /// The object's next waiting write after this one.
    func write(after write: PendingWrite) -> PendingWrite? {
        guard let index = writes.firstIndex(where: { $0.id == write.id }) else { return nil }
        return writes[(index + 1)...].first { $0.objectID == write.objectID }
    }

    /// Records that restore this state.
    var snapshot: [[OfflineRecord]] {
        let old = base.filter { unconfirmed.contains($0.key) }.map(\.value)
        let confirmed = base.filter { !unconfirmed.contains($0.key) && !unmentioned.contains($0.key) }.map(\.value)
        let answered = base.filter { !unconfirmed.contains($0.key) && unmentioned.contains($0.key) }
        let time = fullySynced ?? .distantPast
        var lines: [[OfflineRecord]] = [[.filter(filter)]]
        lines += Self.pages(old, cursor: nil, hasMore: fullySynced == nil, time: time)
        if isRestarting { lines.append([.restart]) }
        lines += Self.pages(confirmed, cursor: cursor, hasMore: isRestarting, time: time)
        lines += answered.map { [.object(id: $0.key, $0.value)] }
        return lines + writes.map { [.write($0, insteadOf: nil)] }
    }

    private static func pages(
        _ objects: [JSON], cursor: String?, hasMore: Bool, time: Date
    ) -> [[OfflineRecord]] {
        var pages = stride(from: 0, to: objects.count, by: 1_000).map { start in
            OfflineRecord.Page(
                changed: Array(objects[start..<min(start + 1_000, objects.count)]), deleted: [], cursor: nil,
                hasMore: true, time: time)
        }
        // The feed's cursor is valid only after all other pages.
        pages.append(.init(changed: [], deleted: [], cursor: cursor, hasMore: hasMore, time: time))
        return pages.map { [.page($0)] }
    }
}
