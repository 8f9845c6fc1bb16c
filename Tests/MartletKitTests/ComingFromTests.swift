import Foundation
import MartletScreens
import Testing

@testable import MartletKit

/// The articles for those who come from another library name all its methods, and the calls that they recommend
/// compile.
struct ComingFromTests {
    private struct Event: Storable {
        static let collection = "Events"
        var sport: String
    }

    private static let file = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()

    private static func article(_ path: String) throws -> String {
        let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("Sources/" + path), encoding: .utf8)
    }

    /// What the article for TBAnalytics recommends, letter by letter. It is compiled, and never called.
    @MainActor
    private func callsInsteadOfTBAnalytics(
        _ martlet: Martlet, value: Event, stored: Stored<Event>, id: String, name: String, objectName: String,
        className: String, theme: String, message: String, error: any Error, deviceToken: Data, userID: String,
        label: any LabelElement, button: any TextElement, navigationBar: any BarElement
    ) async throws {
        try await martlet.storage.create(value)
        try await martlet.storage.save(stored)
        try await martlet.storage.delete(Event.self, id: id)
        _ = try await martlet.storage.get(Event.self, id: id)
        _ = martlet.storage.all(Event.query())
        _ = try await martlet.storage.find(Event.query().where(\.sport == "tennis"))
        _ = try await martlet.storage.first(Event.query().where(\.sport == "tennis"))
        _ = martlet.remote.color(name)
        _ = martlet.translations.text(name)
        _ = martlet.remote.setting(name, default: "https://example.org")
        _ = martlet.remote.properties(of: objectName, in: className)
        try await martlet.remote.fetch()
        try await martlet.remote.choose(theme: theme)
        martlet.remote.activate()
        _ = martlet.remote.current
        martlet.style(label, "tfName", of: "DayTableViewController")
        martlet.style(button, "sendFriend", of: "DayTableViewController")
        martlet.style(navigationBar, "navBar", of: "DayTableViewController")
        martlet.analytics.consent = .granted
        martlet.analytics.track("Application Opened")
        martlet.analytics.screen("DayTableViewController")
        martlet.analytics.track("Bought", ["price": 4.90])
        martlet.crashes.start()
        martlet.crashes.capture(message: message)
        martlet.crashes.capture(message: message, level: .warning)
        martlet.crashes.capture(error)
        try await martlet.notifications.register(token: deviceToken)
        try await martlet.notifications.send("TBNotification", ["title": "Hello", "message": "Seen"], to: [userID])
    }

    /// The same for Napton.
    private func callsInsteadOfNapton(_ martlet: Martlet, _ node: DefinitionNode) async throws {
        var options = DefinitionOptions()
        options.components.addView("RoundImageView")
        options.components.addController("CustomController")
        options.components.addAction("call", answeredBy: "CustomController") { action in _ = action.argument("number") }
        options.components.addOperation("shout") { $0.first ?? .null }
        let loader = martlet.definition("address-book", options)
        _ = try await loader.start()
        try await loader.refresh()
        _ = node.argument("title")
        _ = node.model
    }

    @Test func `the calls that the articles recommend are those that compile here`() throws {
        let lines = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n")
        let compiled = lines.filter { !$0.contains("#expect") }.joined(separator: "\n")
        var count = 0
        for path in [
            "MartletKit/MartletKit.docc/ComingFromTBAnalytics.md",
            "MartletScreens/MartletScreens.docc/ComingFromNapton.md",
        ] {
            // What is between backticks has an odd position.
            let code = try Self.article(path).components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }
            for (_, call) in code {
                let starts = ["martlet.", "try await ", "options.", "node."]
                guard starts.contains(where: { call.hasPrefix($0) }) else { continue }
                count += 1
                let known = call.components(separatedBy: "…")[0].trimmingCharacters(in: .whitespaces)
                #expect(compiled.contains(known), "not compiled: \(call)")
            }
        }
        #expect(count > 35)
    }

    @Test func `the articles name every method of the original libraries`() throws {
        let analytics = [
            "TBJSONSerializable", "TBJSONRepresentable", "TBJSONRepresentation", "sendInBackground",
            "removeInBackground", "getInBackground", "getAllInBackground", "getFilteredInBackground", "tryConvert",
            "getColor", "getTranslation", "getMainSetting", "getObjectProperties", "getObjectNameProperties",
            "getConfigVersion", "getConfigThemeVersion", "updateConfigFileNames", "updateNavigationBar", "readJSONFile",
            "setupLabelView", "setupButton", "RCTextField", "RCColour", "RCController", "RCObject", "sendOpenApp",
            "TBAnalytics.send(", "TBAnalytics.getAllInBackground", "MyException.client", "setupExceptionHandler",
            "checkAndSendErrors", "captureMessage(message:)", "captureMessage(message:level:)", "captureError",
            "ErrorLogLevel", "TBInstallation", "Installation(deviceToken:)", "setTitle", "setUserID", "setMessage",
            "sendNotification",
        ]
        let article = try Self.article("MartletKit/MartletKit.docc/ComingFromTBAnalytics.md")
        for name in analytics { #expect(article.contains(name), "no row names \(name)") }
        let napton = [
            "provideAppURL:", "loadApp", "NaptonViewInterface", "NaptonControllerInterface",
            "NaptonViewControllerInterface", "NaptonViewHelper", "initWithNaptonObject:", "configWithNaptonModel",
            "actionIsExecutable", "executeWithArgs", "generatedController", "generatedView", "render", "argForKey:",
            "styleView:withNaptonView:",
        ]
        let manual = try Self.article("MartletScreens/MartletScreens.docc/ComingFromNapton.md")
        for name in napton { #expect(manual.contains(name), "no row names \(name)") }
    }
}
