import Foundation
import Testing

@testable import MartletKit

struct OfflineJournalTests {
    private let folder = LocalFolder(url: Scratch.folder())
    private var url: URL { folder.url.appendingPathComponent("a") }

    private static func read(_ journal: Journal) throws -> (lines: [JSON], isDamaged: Bool) {
        var lines: [JSON] = []
        let isDamaged = try journal.read { lines.append($0) }
        return (lines, isDamaged)
    }

    private func written(_ lines: [JSON]) throws {
        let journal = try Journal("a", in: folder)
        #expect(try Self.read(journal).lines == [])
        for line in lines { try journal.append(line, durably: true) }
    }

    @Test func `lines, and those that replaced them, are read again after a restart`() throws {
        try written([["n": 1], "two\nlines"])
        do {
            let journal = try Journal("a", in: folder)
            #expect(try Self.read(journal).lines == [["n": 1], "two\nlines"])
            try journal.replace([["n": 3]])
            try journal.append(4, durably: false)
        }
        #expect(try Self.read(try Journal("a", in: folder)).lines == [["n": 3], 4])
    }

    @Test func `an unfinished record after a crash is cut off, wherever it ends`() throws {
        try written([1, ["text": "é"]])
        let whole = try Data(contentsOf: url)
        for length in 0...whole.count {
            try whole.prefix(length).write(to: url)
            let journal = try Journal("a", in: folder)
            let content = try Self.read(journal)
            #expect(!content.isDamaged && content.lines.count == (length == whole.count ? 2 : length >= 19 ? 1 : 0))
            try journal.append("next", durably: false)
            journal.closeFiles()
            #expect(try Self.read(try Journal("a", in: folder)).lines == content.lines + ["next"])
        }
    }

    @Test func `damage in the middle is noticed, and what can be read is read`() throws {
        try written([1, 2, 3])
        var data = try Data(contentsOf: url)
        data[data.count / 2] ^= 1
        try data.write(to: url)
        let content = try Self.read(try Journal("a", in: folder))
        #expect(content.isDamaged && content.lines == [1, 3])
    }

    @Test func `a file has one owner, and is closed for good`() throws {
        let journal = try Journal("a", in: folder)
        _ = try Self.read(journal)
        #expect { try Journal("a", in: folder) } throws: { ($0 as? MartletError)?.code == .offlineStoreInUse }
        journal.closeFiles()
        #expect(throws: MartletError.self) { try journal.append(1, durably: false) }
        _ = try Journal("a", in: folder)
    }
}

struct OfflineStateTests {
    private static let changes: [JSON] = [
        ["n": ["__op": "Increment", "amount": 2]], ["n": 7], ["tags": ["__op": "AddUnique", "objects": ["a"]]],
        ["tags": ["__op": "Remove", "objects": ["a"]]], ["text": "x"], ["text": ["__op": "Delete"]],
        ["a.b": 1], ["a": ["b": 2]], ["tags": ["c"], "n": ["__op": "Increment", "amount": 0.5]],
    ]

    /// Merging must not change what becomes of an object.
    @Test func `two changes that were merged do what both would`() throws {
        let object: JSON = ["_id": "a", "n": 1, "tags": ["a", "b"], "text": "t"]
        var mergedCount = 0
        for first in Self.changes {
            for second in Self.changes {
                let writes = [first, second].map { PendingWrite(.update, objectID: "a", body: $0, date: Date()) }
                guard case .one(let merged) = writes[0].merged(with: writes[1]) else { continue }
                mergedCount += 1
                let both = try #require(writes[1].applied(to: writes[0].applied(to: object)))
                #expect(merged.applied(to: object) == both, "\(first) and \(second)")
            }
        }
        #expect(mergedCount > 40, "\(mergedCount)")
    }

    @Test func `changes are merged into an unsent new object, and deleting it leaves nothing to send`() throws {
        let create = PendingWrite(.create, objectID: "a", body: ["_id": "a", "n": 1], date: Date())
        let update = PendingWrite(
            .update, objectID: "a", body: ["n": ["__op": "Increment", "amount": 2]], date: Date())
        let delete = PendingWrite(.delete, objectID: "a", date: Date())
        guard case .one(let merged) = create.merged(with: update) else { throw MartletError(.undecodable, "both") }
        #expect(merged.kind == .create && merged.body == ["_id": "a", "n": 3] && merged.id == create.id)
        #expect(create.merged(with: delete) == .nothing)
        guard case .one(let deletion) = update.merged(with: delete) else { throw MartletError(.undecodable, "both") }
        #expect(deletion.kind == .delete && deletion.body == nil)
        var sent = create
        sent.firstSent = Date()
        #expect(sent.merged(with: update) == .both && sent.merged(with: delete) == .both)
    }

    @Test func `a page older than the response to a write does not restore the old state`() {
        func object(_ version: Int) -> JSON {
            [
                "_id": "a", "_version": .number(JSONNumber(version)),
                "updated": .string("2026-11-21T09:57:1\(version).000Z"),
            ]
        }
        func page(_ object: JSON, hasMore: Bool = false) -> OfflineRecord {
            .page(.init(changed: [object], deleted: [], cursor: "c", hasMore: hasMore, time: Date()))
        }
        var state = OfflineState()
        state.apply(page(object(1)))
        state.apply(.object(id: "a", object(3)))
        state.apply(page(object(2)))
        #expect(state.object("a") == object(3))
        state.apply(page(object(4)))
        #expect(state.object("a") == object(4))
        // After a restart of the feed, an older version counts: the server may have been restored from a backup.
        state.apply(.restart)
        state.apply(page(object(2)))
        #expect(state.object("a") == object(2))
    }

    @Test(
        arguments: [
            (["a": .null], ["a": ["__op": "Increment", "amount": 2]], ["a": 2]),
            (["a": .null], ["a": ["__op": "Add", "objects": [1]]], ["a": [1]]),
            (["a": .null], ["a": ["__op": "AddUnique", "objects": [1]]], ["a": [1]]),
            (["a": .null], ["a": ["__op": "Remove", "objects": [1]]], ["a": []]),
            (["a": .null], ["a.b": 1], ["a": ["b": 1]]),
            ([:], ["a.b": ["__op": "Delete"]], [:]), (["a": .null], ["a.b": ["__op": "Delete"]], ["a": .null]),
            (["a": ["b": 1]], ["a.b": ["__op": "Delete"]], ["a": [:]]),
        ] as [(JSON, JSON, JSON)])
    func `operations on nulls and missing parents do what the server does`(old: JSON, change: JSON, new: JSON) throws {
        #expect(try FieldOperations.apply(change, to: old) == new)
    }

    @Test(arguments: 0..<20) func `replaying the records, or a snapshot, gives the same state`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var state = OfflineState(), copy = OfflineState(), table = OfflineTable()
        for _ in 0..<60 {
            let record = Self.record(state, &random)
            state.apply(record)
            // The copy gets the record in the form that it has on disk.
            copy.apply(try #require(OfflineRecord(try JSON(parsing: record.json.data))))
            // The table that queries read follows each change.
            var changed = state
            for (id, object) in changed.takeTouched() { table.update(id, to: object) }
            state = changed
            let fields = table.fields(["n"])[0]
            #expect(zip(table.rows, fields).allSatisfy { $0.0?["n"] == $0.1 })
        }
        #expect(Set(table.rows.compactMap { $0 }) == Self.objects(copy))
        Self.expectEqual(copy, state)
        var compact = OfflineState()
        for record in state.snapshot.joined() { compact.apply(record) }
        Self.expectEqual(compact, state)
        #expect(Self.objects(compact) == Self.objects(copy))
        // The end of the feed drops the same objects.
        let last = OfflineRecord.page(
            .init(changed: [], deleted: [], cursor: "end", hasMore: false, time: Date(timeIntervalSince1970: 9)))
        state.apply(last)
        compact.apply(last)
        Self.expectEqual(compact, state)
    }

    private static func expectEqual(_ left: OfflineState, _ right: OfflineState) {
        #expect(left.base == right.base && left.writes == right.writes && left.cursor == right.cursor)
        #expect(left.filter == right.filter && left.isRestarting == right.isRestarting)
        #expect(left.fullySynced == right.fullySynced)
        #expect(left.outboxSize == right.outboxSize)
        #expect(left.outboxSize == left.writes.reduce(0) { $0 + $1.size })
    }

    private static func objects(_ state: OfflineState) -> Set<JSON> {
        var state = state, table = OfflineTable()
        for (id, object) in state.takeTouched() { table.update(id, to: object) }
        return Set(table.rows.compactMap { $0 })
    }

    private static func record(_ state: OfflineState, _ random: inout SeededGenerator) -> OfflineRecord {
        func id() -> String { "o\(Int.random(in: 0..<8, using: &random))" }
        func object() -> JSON {
            ["_id": .string(id()), "_version": 1, "n": .number(JSONNumber(Int.random(in: 0..<9, using: &random)))]
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return .restart
        case 1 where Bool.random(using: &random): return .filter(["n": ["$gt": 3]])
        case 2 where Int.random(in: 0..<4, using: &random) == 0: return .wipe
        case 3, 4:
            let body: JSON = ["n": ["__op": "Increment", "amount": 1]]
            let kinds: [PendingWrite.Kind] = [.create, .update, .delete]
            let kind = kinds.randomElement(using: &random) ?? .update
            return .write(PendingWrite(kind, objectID: id(), body: kind == .delete ? JSON?.none : body, date: Date()))
        case 5 where Bool.random(using: &random):
            let time = Bool.random(using: &random) ? Date(timeIntervalSince1970: 7) : nil
            return .sending(
                id: state.writes.randomElement(using: &random)?.id ?? "none", since: time, checksVersion: true)
        case 5: return .done(id: state.writes.randomElement(using: &random)?.id ?? "none")
        case 6: return .object(id: id(), Bool.random(using: &random) ? ["_id": "o1", "n": 100] : JSON?.none)
        default:
            return .page(
                .init(
                    changed: (0..<3).map { _ in object() }, deleted: [id()], cursor: id(),
                    hasMore: Bool.random(using: &random), time: Date(timeIntervalSince1970: 5)))
        }
    }
}
