public import Foundation
import MartletKit

/// Timetable: an app whose style, texts and start screen are set by the server, and whose crash becomes a ticket.
public struct TimetableStory: Sendable {
    let story: Story
    let app: ExampleApp
    /// Runs the app on the phone with this folder until it crashes, in a separate process:
    /// ``CrashingTimetable/run(in:)``.
    let crash: @Sendable (URL) async throws -> Void

    public static func run(
        _ developer: Developer, _ story: Story = Story(), crash: @escaping @Sendable (URL) async throws -> Void
    ) async throws {
        let app = try await Timetable.setUp(developer)
        try await TimetableStory(story: story, app: app, crash: crash).tell()
    }

    func tell() async throws {
        try await publishLessons()
        try await changeTheme()
        try await changeLanguage()
        try await test()
        try await reportCrash()
    }

    func phone(
        _ owner: String, version: String = Timetable.version, folder: URL = Scratch.folder(),
        _ change: (inout Martlet.Configuration) -> Void = { _ in }
    ) -> Timetable {
        Timetable(
            martlet: app.phone(of: owner, folder: folder) {
                $0.device.appVersion = version
                change(&$0)
            })
    }

    // MARK: Chapters

    func publishLessons() async throws {
        story.chapter("1. Lessons")
        let (emma, ann) = (phone("Emma"), phone("Ann"))
        let editor = try await emma.martlet.users.signInAnonymously(profile: ["name": "Emma"])
        try await app.manage("PUT", "roles/editors", ["add": [.string(editor.id)]])
        let monday = Date().addingTimeInterval(24 * 3_600)
        _ = try await emma.martlet.storage.create(contentsOf: [
            Lesson(title: "Art", room: "A1", start: monday, published: true, note: "Replaces Mr Gray"),
            Lesson(title: "Maths", room: nil, start: monday.addingTimeInterval(3_600), published: false, note: nil),
        ])
        let all = try await emma.lessons()
        try story.check(all.map(\.title) == ["Art", "Maths"], "Emma reads \(all.map(\.title)).")
        let published = try await ann.lessons()
        try story.check(published.map(\.title) == ["Art"], "Ann reads \(published.map(\.title)).")
        try story.check(published[0].note == nil, "Ann reads what is for editors: \(published[0].note ?? "").")
        story.says("Emma, an editor, writes two lessons and publishes one. Ann's phone shows that one.")
        try await story.refuses(.forbidden, "Ann writes a lesson") {
            try await ann.martlet.storage.create(
                Lesson(title: "Sleep", room: nil, start: monday, published: true, note: nil))
        }
    }

    func changeTheme() async throws {
        story.chapter("2. Looks")
        let folder = Scratch.folder()
        let ann = phone("Ann", folder: folder)
        await ann.start()
        try story.check(ann.titleColor == "#780000", "The light colour is \(ann.titleColor ?? "none").")
        try await ann.martlet.remote.choose(theme: "Dark")
        try story.check(ann.titleColor == "#fa0000", "The dark colour is \(ann.titleColor ?? "none").")
        story.says("Lessons are written in #780000. Ann chooses the dark theme: \(ann.titleColor ?? "").")
        async let published = Timetable.publish("Dark", red: 200, startScreen: "day", on: app)
        let color = try await Story.within(120, "Ann's open app to change its colour") { () -> String? in
            for await _ in ann.martlet.remote.updates() where ann.titleColor != "#fa0000" { return ann.titleColor }
            return nil
        }
        _ = try await published
        try story.check(color == "#c80000", "The colour changed to \(color ?? "none").")
        story.says("The designer publishes another colour. Ann's open app shows it without a restart: \(color ?? "").")
        let offline = phone("Ann", folder: folder) { $0.transport = NoConnection() }
        await offline.start()
        try story.check(
            offline.titleColor == color, "Without a connection, the colour is \(offline.titleColor ?? "none").")
        story.says("After a restart without a connection it is the same.")
    }

    func changeLanguage() async throws {
        story.chapter("3. Texts")
        let ann = phone("Ann") { $0.device.language = "de-AT" }
        await ann.start()
        let german = ann.heading(for: "Ann", lessonCount: 1)
        try story.check(german == "Stundenplan von Ann: 1 Stunde", "In German, the heading is “\(german)”.")
        try await ann.martlet.translations.choose(language: "en")
        let english = ann.heading(for: "Ann", lessonCount: 2)
        try story.check(english == "Timetable of Ann: 2 lessons", "In English, the heading is “\(english)”.")
        story.says("“\(german)” on an Austrian phone; “\(english)” when Ann chooses English.")
    }

    /// An A/B test on two configurations.
    func test() async throws {
        story.chapter("4. Which screen first?")
        try await Timetable.startTest(on: app)
        let folders = (0..<24).map { _ in Scratch.folder() }
        let early = phone("Student 0", folder: folders[0])
        try await Story.waitForCopies(toKnow: "the test") {
            try await early.martlet.remote.refresh()
            return early.martlet.remote.current.experiments["start-screen"] != nil
        }
        var first: [String] = []
        for (number, folder) in folders.enumerated() {
            let phone = phone("Student \(number)", folder: folder)
            try await phone.martlet.remote.refresh()
            first.append(phone.martlet.remote[.startScreen])
            let variation = phone.martlet.remote.current.experiments["start-screen"]
            try story.check(
                variation == first.last, "A phone of the variation \(variation ?? "none") starts with another screen.")
            phone.martlet.analytics.consent = .granted
            phone.open("Art")
            try await phone.martlet.analytics.flush()
        }
        let week = first.filter { $0 == "week" }.count
        try story.check((1..<24).contains(week), "Of 24 phones, \(week) start with the week.")
        for (folder, screen) in zip(folders, first) {
            let again = phone("the same", folder: folder)
            try await again.martlet.remote.refresh()
            try story.check(again.martlet.remote[.startScreen] == screen, "A phone has changed its variation.")
        }
        story.says("Of 24 phones, \(week) start with the week and the others with the day; each keeps its screen.")
        try await Story.wait(for: "the results of the test") {
            let results = try await app.manage("GET", "config/experiment/start-screen/results")
            let (units, seen) = (results["units"], results["conversions"]?["seen"])
            return units?["week"]?.intValue == week && units?["day"]?.intValue == 24 - week
                && seen?["week"]?.intValue == week && seen?["day"]?.intValue == 24 - week
        }
        story.says("The server has counted them and what they opened.")
    }

    /// A crash of one app version becomes a ticket.
    func reportCrash() async throws {
        story.chapter("5. A crash")
        let folder = Scratch.folder()
        let ben = phone("Ben", version: "2.1", folder: folder)
        try CrashingTimetable.prepare(ben.martlet.configuration)
        try await crash(folder)
        story.says("On Ben's phone, version 2.1 crashes.")
        await phone("Ann").start()
        await phone("Ben", version: "2.1", folder: folder).start()
        var issue = JSON.null
        try await Story.wait(for: "the report of the crash") {
            issue = try await app.manage("GET", "crashes/issues")["data"]?[0] ?? .null
            return issue["number"] != nil
        }
        let number = issue["number"] ?? .null
        let releases = try await app.manage("GET", "crashes/issues/\(number)/releases")["data"]?.arrayValue ?? []
        try story.check(releases.count == 1 && releases[0].text.contains("2.1"), "The crash is in \(releases).")
        let report = try await app.manage("GET", "crashes/issues/\(number)/reports/newest")
        try story.check(report.text.contains("Opened Friday"), "The report does not say what Ben did.")
        story.says(
            "At its next start the app reports it: issue \(number), in version 2.1 alone, after “Opened Friday”.")
        let ticket = try await app.manage(
            "POST", "tickets",
            ["title": "Friday crashes", "type": "bug", "priority": "high", "appVersion": "2.1", "issues": [number]])
        let name = ticket["number"] ?? .null
        try story.check(ticket["appVersion"] == "2.1", "The ticket is for \(ticket["appVersion"] ?? .null).")
        try await app.manage(
            "PATCH", "tickets/\(name)", ["status": "complete", "resolveIssues": true], headers: ["if-match": "*"])
        let state = try await app.manage("GET", "crashes/issues/\(number)")["state"]
        try story.check(state == "resolved", "The issue is \(state ?? .null).")
        story.says("Ticket \(name) is for version 2.1. Completing it resolves the issue.")
    }
}

/// A phone without a connection.
struct NoConnection: HTTPTransport {
    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        throw MartletError(.notConnected, "The phone has no connection.")
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        throw MartletError(.notConnected, "The phone has no connection.")
    }
}
