import Foundation
import Testing

@testable import MartletKit

@Suite("Remote configuration")
struct RemoteConfigurationTests {
    private static let answer: JSON = [
        "appVersion": "2.4.2", "theme": "Dark", "version": "2.4.2.2", "number": 7, "hash": "9f",
        "themes": ["Dark", "Light"], "languagesList": ["en"],
        "mainSettings": ["url": "www.dit.ie", "rows": "14", "isOn": true],
        "colors": [["name": "navColor", "red": 255, "green": 0, "blue": 51, "alpha": 0.5]],
        "controllers": [
            [
                "name": "Base", "parent": "0", "classProperties": ["backgroundColor": "navColor"],
                "objectsList": [["objectName": "title", "objectProperties": ["fontSize": "14", "text": "hello"]]],
            ],
            [
                "name": "Days", "parent": "Base", "classProperties": [:],
                "objectsList": [
                    [
                        "objectName": "title",
                        "objectProperties": ["textColor": "navColor", "isHidden": "0", "font": ""],
                    ]
                ],
            ],
        ],
        "experiments": ["checkout": "dark"],
    ]

    @Test func `settings, colours and properties are read with their types`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, Self.answer, ["ETag": "\"a\""]) }
        let remote = try Martlet.scripted(transport).remote
        #expect(remote.setting("rows", default: 3) == 3)
        #expect(try await remote.refresh())
        #expect(remote.setting("rows", default: 3) == 14)
        #expect(remote.setting("url", default: "") == "www.dit.ie")
        #expect(remote.setting("url", default: 5) == 5)
        #expect(remote.setting("missing") == nil)
        #expect(remote[Parameter("isOn", default: false)])
        #expect(remote.color("navColor")?.hexadecimal == "#ff003380")
        #expect(remote.current.version == "2.4.2.2")
        #expect(remote.current.themes == ["Dark", "Light"])
        let title = remote.properties(of: "title", in: "Days")
        #expect(title.number("fontSize") == 14)
        #expect(title.flag("isHidden") == false)
        #expect(title.text("font") == nil)
        #expect(title.color("textColor") == remote.color("navColor"))
        #expect(remote.properties(ofController: "Days").text("backgroundColor") == "navColor")
        #expect(remote.properties(of: "title", in: "Nobody").isEmpty)
    }

    @Test func `an unchanged configuration is a 304, also after a restart, and stays without a network`() async throws {
        let isOnline = Locked(true)
        let transport = ScriptedTransport { request, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            return request.headers["if-none-match"] == "\"a\""
                ? HTTPResponse(status: 304) : HTTPResponse(200, Self.answer, ["ETag": "\"a\""])
        }
        let folder = Scratch.folder()
        #expect(try await Martlet.scripted(transport, folder: folder).remote.refresh())
        let second = try Martlet.scripted(transport, folder: folder).remote
        #expect(second.setting("url") == "www.dit.ie")
        #expect(try await second.refresh() == false)
        #expect(transport.sent.last?.headers["if-none-match"] == "\"a\"")
        isOnline.withLock { $0 = false }
        let third = try Martlet.scripted(transport, folder: folder).remote
        await #expect { try await third.refresh() } throws: { ($0 as? MartletError)?.isConnectionFailure == true }
        #expect(third.setting("url") == "www.dit.ie")
    }

    @Test func `a configuration kept for another app version is not used`() async throws {
        let folder = Scratch.folder()
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, Self.answer, ["ETag": "\"a\""]) }
        try await Martlet.scripted(transport, folder: folder).remote.refresh()
        let updated = try Martlet.scripted(transport, folder: folder, change: { $0.device.appVersion = "9.0" }).remote
        #expect(updated.setting("url") == nil)
        try await updated.refresh()
        #expect(transport.sent.last?.headers["if-none-match"] == nil)
    }

    @Test func `a loaded configuration is in effect when the app says so, or after the next start`() async throws {
        let folder = Scratch.folder()
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, Self.answer) }
        let remote = try Martlet.scripted(transport, folder: folder).remote
        #expect(try await remote.fetch())
        #expect(remote.setting("url") == nil)
        #expect(try Martlet.scripted(transport, folder: folder).remote.setting("url") == "www.dit.ie")
        #expect(remote.activate())
        #expect(remote.setting("url") == "www.dit.ie")
        #expect(remote.activate() == false)
    }

    @Test func `a theme is kept, and shown without a network if it was loaded before`() async throws {
        let isOnline = Locked(true)
        let transport = ScriptedTransport { request, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            let body = try JSON(parsing: request.body ?? Data())
            var answer = Self.answer
            answer["theme"] = body["theme"] ?? "Light"
            return HTTPResponse(200, answer, ["ETag": "\"\(body["theme"]?.stringValue ?? "-")\""])
        }
        let folder = Scratch.folder()
        let remote = try Martlet.scripted(transport, folder: folder).remote
        try await remote.choose(theme: "Dark/../x")
        #expect(transport.sent.last?.headers["if-none-match"] == nil)
        #expect(remote.current.theme == "Dark/../x")
        try await remote.choose(theme: nil)
        #expect(remote.current.theme == "Light")
        isOnline.withLock { $0 = false }
        await #expect(throws: MartletError.self) { try await remote.choose(theme: "Dark/../x") }
        #expect(remote.current.theme == "Dark/../x")
        #expect(try Martlet.scripted(transport, folder: folder).remote.current.theme == "Dark/../x")
    }

    @Test func `the app's own defaults replace what the server does not set`() async throws {
        let folder = Scratch.folder()
        let file = folder.appendingPathComponent("Martlet.json")
        try LocalFolder(url: folder).write(
            Data(
                #"""
                {"remote":{"mainSettings":{"url":"own","only":1},"colors":[{"name":"own","red":0,"green":0,"blue":0}]},
                 "flags":{"new":true},"translations":{"en":{"language":"en","strings":{"bye":"Bye"}}}}
                """#.utf8), to: "Martlet.json")
        let isThere = Locked(true)
        let transport = ScriptedTransport { _, _ in
            isThere.withLock { $0 } ? HTTPResponse(200, Self.answer) : .problem(404, "document-not-found")
        }
        let martlet = try Martlet.scripted(transport, change: { $0.defaults = file })
        #expect(martlet.remote.setting("url") == "own")
        #expect(martlet.translations.text("bye") == "Bye")
        try await martlet.remote.refresh()
        #expect(martlet.remote.setting("url") == "www.dit.ie")
        #expect(martlet.remote.setting("only") == 1)
        #expect(martlet.remote.color("own")?.hexadecimal == "#000000")
        isThere.withLock { $0 = false }
        #expect(try await martlet.remote.refresh())
        #expect(martlet.remote.setting("url") == "own")
    }

    @Test(arguments: [
        #"{"colors":5,"controllers":[{"name":"A","parent":"B"},{"name":"B","parent":"A"}],"mainSettings":[]}"#,
        #"{"controllers":[{"objectsList":[{"objectName":"a","objectProperties":7}],"name":"A"}]}"#, "{}",
    ])
    func `no response can keep an app from starting`(text: String) async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 200, body: Data(text.utf8)) }
        let remote = try Martlet.scripted(transport).remote
        try await remote.refresh()
        #expect(remote.properties(of: "a", in: "A").isEmpty)
        #expect(remote.properties(ofController: "A").isEmpty)
    }

    @Test func `a publication says which documents it concerns`() throws {
        let data = #"{"generation":7,"documents":[{"kind":"flags","name":"default","version":3}]}"#
        let changed = try #require(Publication(ServerSentEvents.Event(name: "changed", data: data)))
        #expect(changed.generation == 7 && changed.concerns("flags") && !changed.concerns("flag", "translation"))
        let open = try #require(Publication(ServerSentEvents.Event(name: "open", data: data)))
        #expect(open.concerns("translation"))
        #expect(Publication(ServerSentEvents.Event(name: "ping", data: data)) == nil)
        #expect(Publication(ServerSentEvents.Event(name: "open", data: "{")) == nil)
    }

    @Test func `calls after an event name its generation`() async throws {
        let (open, close) = AsyncStream<Void>.makeStream()
        defer { close.finish() }
        let transport = ScriptedTransport { request, number in
            guard request.url.path.hasSuffix("/config/events") else {
                return HTTPResponse(200, ["flags": [:], "language": "en", "strings": [:]])
            }
            if number > 1 { for await _ in open {} }
            let event = "event: open\ndata: {\"generation\":7,\"documents\":[]}\n\n"
            return HTTPResponse(status: 200, body: Data(event.utf8))
        }
        let martlet = try Martlet.scripted(transport)
        try await martlet.remote.refresh()
        #expect(transport.sent.last?.url.query == nil)
        let listening = Task { for await _ in martlet.remote.updates() {} }
        defer { listening.cancel() }
        try await eventually("the event causes a call") { transport.sent.contains { $0.url.query == "generation=7" } }
        try await martlet.flags.refresh()
        try await martlet.translations.refresh()
        for path in ["remote", "flags/evaluate", "translation/en/1.0"] {
            let call = transport.sent.last { $0.url.path.hasSuffix("/" + path) }
            #expect(call?.url.query == "generation=7", "\(path)")
        }
    }

    @Test func `calls omit the generation if the server does not know generations`() async throws {
        let (open, close) = AsyncStream<Void>.makeStream()
        defer { close.finish() }
        let transport = ScriptedTransport { request, number in
            guard request.url.path.hasSuffix("/config/events") else {
                guard request.url.query == nil else {
                    return HTTPResponse(400, ["code": "invalid-parameter", "field": "generation"])
                }
                return HTTPResponse(200, ["flags": [:]])
            }
            if number > 0 { for await _ in open {} }
            let event = "event: open\ndata: {\"generation\":7,\"documents\":[]}\n\n"
            return HTTPResponse(status: 200, body: Data(event.utf8))
        }
        let martlet = try Martlet.scripted(transport)
        let listening = Task { for await _ in martlet.remote.updates() {} }
        defer { listening.cancel() }
        try await eventually("the event causes a call") {
            transport.sent.last { $0.url.path.hasSuffix("/remote") }.map { $0.url.query == nil } == true
        }
        try await martlet.flags.refresh()
        #expect(transport.sent.filter { $0.url.query != nil }.count == 1)
    }

    @Test(.enabled(if: LiveServer.shared != nil))
    func `a publication reaches an app that listens, and changes its colours`() async throws {
        let server = try #require(LiveServer.shared)
        let version = "71.\(Int.random(in: 0...99_999)).0"
        func publish(red: JSON) async throws {
            try await server.manage(
                "POST", "remote",
                [
                    "appVersion": .string(version), "theme": "Dark",
                    "configuration": [
                        "colors": [["name": "nav", "red": red, "green": 0, "blue": 0]],
                        "mainSettings": ["limit": 5],
                    ],
                ])
        }
        try await publish(red: 255)
        let martlet = Martlet(try server.configuration(appVersion: version))
        try await martlet.remote.choose(theme: "Dark")
        #expect(martlet.remote.color("nav")?.hexadecimal == "#ff0000")
        #expect(try await martlet.remote.refresh() == false)
        let seen = Locked<[String]>([])
        let listening = Task {
            for await snapshot in martlet.remote.updates() {
                seen.withLock { $0.append(snapshot.colors["nav"]?.hexadecimal ?? "") }
            }
        }
        try await eventually("the first snapshot has arrived") { !seen.withLock { $0.isEmpty } }
        try await publish(red: 0)
        try await eventually("the publication has arrived") { seen.withLock { $0.last } == "#000000" }
        listening.cancel()
        #expect(martlet.remote.color("nav")?.hexadecimal == "#000000")
    }
}

/// A label like those of UI toolkits.
@MainActor private final class Label: LabelElement, ControlElement {
    var calls: Set<String> = []
    func setBackgroundColor(_ color: RemoteColor) { calls.insert("background \(color.hexadecimal)") }
    func setTintColor(_ color: RemoteColor) { calls.insert("tint") }
    func setBorder(color: RemoteColor?, width: Double?) { calls.insert("border \(width ?? -1)") }
    func setCornerRadius(_ points: Double) { calls.insert("radius \(points)") }
    func setAlpha(_ alpha: Double) { calls.insert("alpha \(alpha)") }
    func setHidden(_ isHidden: Bool) { calls.insert("hidden \(isHidden)") }
    func setAccessibility(label: String?, hint: String?, identifier: String?) { calls.insert("label \(label ?? "")") }
    func setText(_ text: String) { calls.insert("text \(text)") }
    func setTextColor(_ color: RemoteColor) { calls.insert("color \(color.hexadecimal)") }
    func setFont(name: String?, size: Double?, weight: String?) { calls.insert("font \(size ?? 0) \(weight ?? "")") }
    func setTextAlignment(_ alignment: String) { calls.insert("alignment \(alignment)") }
    func setNumberOfLines(_ lines: Int) { calls.insert("lines \(lines)") }
    func setEnabled(_ isEnabled: Bool) { calls.insert("enabled \(isEnabled)") }
}

/// A navigation bar like those of UI toolkits.
@MainActor private final class Bar: BarElement {
    var calls: Set<String> = []
    func setBackgroundColor(_ color: RemoteColor) { calls.insert("background \(color.hexadecimal)") }
    func setTintColor(_ color: RemoteColor) { calls.insert("tint \(color.hexadecimal)") }
    func setBorder(color: RemoteColor?, width: Double?) { calls.insert("border") }
    func setCornerRadius(_ points: Double) { calls.insert("radius") }
    func setAlpha(_ alpha: Double) { calls.insert("alpha") }
    func setHidden(_ isHidden: Bool) { calls.insert("hidden") }
    func setAccessibility(label: String?, hint: String?, identifier: String?) { calls.insert("label") }
    func setBarTintColor(_ color: RemoteColor) { calls.insert("bar \(color.hexadecimal)") }
    func setTitleColor(_ color: RemoteColor) { calls.insert("title \(color.hexadecimal)") }
}

struct ViewElementTests {
    @Test @MainActor func `a bar gets its colours`() {
        let properties = ElementProperties(
            values: ["barTintColor": "red", "titleColor": "red", "text": "greeting"],
            color: { $0 == "red" ? RemoteColor(red: 1, green: 0, blue: 0) : nil })
        let bar = Bar()
        properties.apply(to: bar)
        #expect(bar.calls == ["bar #ff0000", "title #ff0000"])
    }

    @Test @MainActor func `an element gets what the server says, in the user's language, and nothing else`() {
        let properties = ElementProperties(
            values: [
                "text": "greeting", "textColor": "nav", "fontSize": 17, "fontWeight": "bold", "isHidden": false,
                "numberOfLines": "2", "isEnabled": "1", "cornerRadius": "none", "alpha": .null, "tintColor": "unknown",
            ],
            color: { $0 == "nav" ? RemoteColor(red: 1, green: 2, blue: .nan) : nil })
        let label = Label()
        properties.apply(to: label) { "<\($0)>" }
        #expect(
            label.calls == [
                "text <greeting>", "color #ffff00", "font 17.0 bold", "hidden false", "lines 2", "enabled true",
            ])
    }
}
