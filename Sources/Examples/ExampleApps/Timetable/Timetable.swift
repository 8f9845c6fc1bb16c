public import Foundation
import MartletKit

struct Lesson: Storable {
    static let collection = "Lessons"

    var title: String
    var room: String?
    var start: Date
    var published: Bool
    /// A note for editors; nil on the phones of all others.
    var note: String?
}

extension Parameter where Value == String {
    /// What the app shows first: `day` or `week`. An A/B test decides for some users.
    static let startScreen = Parameter("startScreen", default: "day")
}

/// The app Timetable on one phone: what its screens call.
struct Timetable: Sendable {
    /// The screen whose style the server sets.
    static let dayScreen = "DayTableViewController"

    let martlet: Martlet

    /// Called at the start, and when the app comes to the foreground: loads styles and texts, and sends crash reports,
    /// if there are any.
    func start() async {
        martlet.crashes.start()
        await martlet.enteredForeground()
        await martlet.crashes.flush()
    }

    func lessons() async throws -> [Stored<Lesson>] {
        try await martlet.storage.find(Lesson.query().order(by: \.start))
    }

    /// The line above the list: `Timetable of Ann: 2 lessons`.
    func heading(for name: String, lessonCount: Int) -> String {
        martlet.translations.text("title", .string(name)) + ": "
            + martlet.translations.text("lessons", .integer(lessonCount))
    }

    /// The colour of the label with a lesson's name.
    var titleColor: String? {
        martlet.remote.properties(of: "className", in: Self.dayScreen).color("textColor")?.hexadecimal
    }

    func open(_ lesson: String) {
        martlet.analytics.track("Lesson Opened", ["lesson": .string(lesson)])
    }
}

// MARK: - A crash

/// The app in a separate process, which crashes.
public enum CrashingTimetable {
    private static let file = "phone.json"

    /// Stores the address of the server on the phone.
    static func prepare(_ configuration: Martlet.Configuration) throws {
        let phone: JSON = [
            "url": .string(configuration.url.absoluteString), "appKey": .string(configuration.appKey),
            "secret": .string(configuration.secret), "dsn": configuration.sentryDSN.map(JSON.string) ?? .null,
            "version": .string(configuration.device.appVersion),
            "bundle": configuration.device.bundleIdentifier.map(JSON.string) ?? .null,
        ]
        try FileManager.default.createDirectory(at: configuration.folder, withIntermediateDirectories: true)
        try phone.data.write(to: configuration.folder.appendingPathComponent(file))
    }

    /// Runs the app on the phone with this folder, until it crashes.
    public static func run(in folder: URL) throws -> Never {
        let phone = try JSON(parsing: Data(contentsOf: folder.appendingPathComponent(file)))
        func text(_ name: String) -> String { phone[name]?.stringValue ?? "" }
        guard let url = URL(string: text("url")) else { throw StoryError("The phone has no server.") }
        var configuration = Martlet.Configuration(url: url, appKey: text("appKey"), secret: text("secret"))
        configuration.folder = folder
        configuration.sessionStore = MemorySessionStore()
        configuration.sentryDSN = phone["dsn"]?.stringValue
        configuration.device.appVersion = text("version")
        configuration.device.bundleIdentifier = phone["bundle"]?.stringValue
        let martlet = Martlet(configuration)
        martlet.crashes.start()
        martlet.crashes.add(Breadcrumb("Opened Friday", category: "navigation"))
        fatalError("Friday has no lessons")
    }
}
