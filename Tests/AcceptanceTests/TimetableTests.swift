import Foundation
import MartletKit
import Testing

@testable import ExampleApps

@Suite("Timetable") struct TimetableTests {
    /// Tells the crashing process its folder. It is not an environment variable, because other tests read those.
    private static func note(of process: Int32) -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("martlet-crash-\(process)")
    }

    @Test func `the example runs, and each of its steps has the expected result`() async throws {
        try await TimetableStory.run(Acceptance.developer(), Acceptance.story) { folder in
            let note = Self.note(of: getpid())
            try Data(folder.path.utf8).write(to: note)
            defer { try? FileManager.default.removeItem(at: note) }
            await #expect(processExitsWith: .failure) {
                let path = try String(contentsOf: TimetableTests.note(of: getppid()), encoding: .utf8)
                try CrashingTimetable.run(in: URL(fileURLWithPath: path))
            }
        }
    }

    @Test func `only editors write, and only they read drafts and notes`() async throws {
        let app = try await Timetable.setUp(Acceptance.developer())
        let story = TimetableStory(story: Acceptance.story, app: app) { _ in }
        let (emma, ann) = (story.phone("Emma"), story.phone("Ann"))
        let editor = try await emma.martlet.users.signInAnonymously()
        try await app.manage("PUT", "roles/editors", ["add": [.string(editor.id)]])
        let draft = try await emma.martlet.storage.create(
            Lesson(title: "Art", room: nil, start: Date(), published: false, note: "Draft"))
        let storage = ann.martlet.storage
        #expect(try await ann.lessons().isEmpty)
        #expect(try await storage.get(Lesson.self, id: draft.id) == nil)
        await expectRefusal { try await storage.find(Lesson.query().where(\.note == "Draft")) }
        await expectRefusal { try await storage.update(draft, .set(\.published, to: true)) }
        try await emma.martlet.storage.update(draft, .set(\.published, to: true))
        #expect(try await ann.lessons().map(\.note) == [nil])
        await expectRefusal { try await storage.update(draft, .set(\.title, to: "Break")) }
        await expectRefusal { try await storage.delete(draft) }
        // The keys and tokens that an app contains do not allow publishing looks or texts.
        let secret: HTTPHeaders = ["x-martlet-secret": app.key("secret")]
        let path = "api/\(app.appKey)/config/translation/\(Timetable.version)/publish"
        await #expect { try await Call(app.url, headers: secret).json("POST", path, [:]) } throws: {
            [401, 403].contains(($0 as? MartletError)?.status)
        }
    }
}
