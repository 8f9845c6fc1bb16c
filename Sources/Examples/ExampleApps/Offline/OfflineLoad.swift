import Foundation
import MartletKit

/// One phone keeps many notes: measures how long it takes to synchronize them, to query them, and to open them after a
/// restart.
public struct OfflineLoad: Sendable {
    private struct Note: Storable, Equatable {
        static let collection = "Notes"

        var title: String
        var number: Int
        var room: String
        var tags: [String]
        var place: GeoPoint
    }

    /// The times that a release build must not exceed with 10,000 notes.
    private static let limits: (sync: TimeInterval, query: TimeInterval) = (3, 0.005)
    private static let repetitions = 11

    let story: Story
    let app: ExampleApp
    let count: Int

    /// - Throws: ``StoryError`` if the phone does not find what the server finds. In a release build, with up to 10,000
    ///   notes, also if a time exceeds its limit.
    public static func run(_ developer: Developer, count: Int = 10_000, _ story: Story = Story()) async throws {
        let app = try await developer.makeApp("Notes", bundleID: "org.example.notes")
        let load = OfflineLoad(story: story, app: app, count: count)
        try await load.fill()
        let folder = Scratch.folder()
        let sync = try await load.synchronize(folder)
        let queries = try await load.measureQueries(folder)
        try await load.open(folder)
        guard !isDebugBuild, count <= 10_000 else { return story.says("(Only a release build must be as fast.)") }
        try story.check(sync < limits.sync, "Synchronizing must take less than \(limits.sync) s.")
        try story.check(queries.allSatisfy { $0 < limits.query }, "A query must take less than \(limits.query) s.")
    }

    private func fill() async throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            let notes = try (start..<min(start + 1_000, count)).map { try JSON(encoding: note($0)) }
            try await app.manage("POST", "storage/all/\(Note.collection)", JSON.array(notes))
        }
        let everybody: JSON = ["rules": ["find": ["*"], "get": ["*"], "count": ["*"]]]
        try await app.manage("PUT", "collections/\(Note.collection)/rules", everybody)
    }

    private func note(_ index: Int) -> Note {
        Note(
            title: "Note \(index * 7_919 % count)", number: index % 1_000, room: "r\(index % 20)",
            tags: ["a", "b\(index % 7)"],
            place: GeoPoint(latitude: 46 + Double(index % 100) / 100, longitude: 7 + Double(index / 100) / 100))
    }

    private func synchronize(_ folder: URL) async throws -> TimeInterval {
        let notes = try await app.phone(of: "Ann", folder: folder).offline.collection(Note.self)
        let first = try await seconds { try await notes.sync() }
        let again = try await seconds { try await notes.sync() }
        let kept = try await notes.count()
        try story.check(kept == count, "The phone has \(kept) of \(count) notes.")
        say("sync of \(count) notes", first, must: Self.limits.sync)
        say("sync without changes", again)
        return first
    }

    /// - Returns: The median time of each query.
    private func measureQueries(_ folder: URL) async throws -> [TimeInterval] {
        // No two notes have the same distance from here.
        let here = GeoPoint(latitude: 46.5037, longitude: 7.5011)
        let queries: [(String, Query<Note>)] = [
            (
                "one room, sorted, 20",
                Note.query().where(\.room == "r3" && \.number > 500).order(by: \.title).limit(20)
            ),
            ("high numbers, sorted, 20", Note.query().where(\.number > 900).order(by: \.number, .descending).limit(20)),
            ("a tag, 100", Note.query().where(.contains(\.tags, "b3"))),
            ("all, sorted, 20", Note.query().order(by: \.title).limit(20)),
            ("within 5 km, nearest 20", Note.query().near(\.place, of: here, within: .kilometers(5)).limit(20)),
            ("the nearest 20 of all", Note.query().near(\.place, of: here).limit(20)),
        ]
        let phone = try copy(folder)
        let notes = try await phone.offline.collection(Note.self)
        var medians: [TimeInterval] = []
        for (name, query) in queries {
            let answer = try await phone.storage.find(query)
            try story.check(try await notes.find(query) == answer, "The phone finds other notes: \(name).")
            var times: [TimeInterval] = []
            for _ in 0..<Self.repetitions { times.append(try await seconds { _ = try await notes.find(query) }) }
            medians.append(times.sorted()[Self.repetitions / 2])
            say("query: " + name, medians.last ?? 0, must: Self.limits.query)
        }
        return medians
    }

    private func open(_ folder: URL) async throws {
        let phone = try copy(folder)
        say("opening after a restart", try await seconds { _ = try await phone.offline.collection(Note.self) })
    }

    /// The phone after a restart. The files are copied, because this process still uses them.
    private func copy(_ folder: URL) throws -> Martlet {
        let other = Scratch.folder()
        try FileManager.default.copyItem(at: folder, to: other)
        return app.phone(of: "Ann", folder: other)
    }

    private func seconds(_ work: () async throws -> Void) async throws -> TimeInterval {
        let start = DispatchTime.now().uptimeNanoseconds
        try await work()
        return TimeInterval(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    }

    private func say(_ what: String, _ seconds: TimeInterval, must limit: TimeInterval? = nil) {
        let name = what.padding(toLength: 32, withPad: " ", startingAt: 0)
        let must = limit.map { String(format: "   must: %.0f", $0 * 1_000) } ?? ""
        story.says(name + String(format: "%9.2f ms", seconds * 1_000) + must)
    }

    private static var isDebugBuild: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }
}
