import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPush
import Testing

@testable import NotificationsService

struct MessageContentTests {
    private static let full = """
        {"title":"Hi","subtitle":"S","body":"B","localized":{"de":{"title":"Hallo"},"de-AT":{"body":"Servus"},"zh-Hant":{"title":"你好"}},\
        "badge":3,"sound":"default","image":"https://a.example/i.png","category":"c","thread":"t","collapseId":"x","data":{"n":1.10,"o":{"a":[true]}},\
        "priority":"normal","interruptionLevel":"time-sensitive","relevance":0.5,"ttl":60,"atMostOnce":true}
        """

    @Test func `content is stored as written, and read again`() throws {
        let json = try JSONValue(parsing: Self.full.utf8)
        let content = try MessageContent(json)
        #expect(try MessageContent(content.json) == content)
        #expect(content.json["data"]?["n"]?.text == "1.10")
        #expect(content.languages.map(\.text) == ["de", "de-AT", "zh-Hant"])
    }

    @Test(arguments: [
        (#"{}"#, "body"), (#"{"title":""}"#, "title"), (#"{"title":1}"#, "title"),
        (#"{"body":"b","nonsense":1}"#, "nonsense"),
        (#"{"body":"b","badge":-1}"#, "badge"), (#"{"body":"b","badge":"more"}"#, "badge"),
        (#"{"body":"b","image":"http://a.example/"}"#, "image"),
        (#"{"body":"b","data":{"aps":{}}}"#, "data.aps"), (#"{"body":"b","data":[]}"#, "data"),
        (#"{"body":"b","ttl":-1}"#, "ttl"),
        (#"{"body":"b","localized":{"not a tag":{}}}"#, "localized.not a tag"),
        (#"{"body":"b","relevance":2}"#, "relevance"),
        (#"{"body":"b","priority":"urgent"}"#, "priority"), (#"{"body":"b","variants":[{"name":"a"}]}"#, "variants"),
        (#"{"body":"b","variants":[{"name":"a"},{"name":"a"}]}"#, "variants.name"),
        (#"{"silent":true,"sound":"x"}"#, "silent"),
        (#"{"body":"b","pushType":"liveactivity"}"#, "liveActivity"),
        (#"{"liveActivity":{"event":"update"}}"#, "liveActivity.contentState"),
    ])
    func `invalid content is refused by name`(_ json: String, _ field: String) throws {
        do {
            _ = try MessageContent(try JSONValue(parsing: json.utf8))
            Issue.record("accepted: \(json)")
        } catch let problem as ServiceError {
            #expect(problem.code == .invalidBody && problem.field == "content." + field)
        }
    }

    @Test(arguments: [
        ("de-AT", "Hi", "Servus"), ("de-DE", "Hallo", "B"), ("de", "Hallo", "B"), ("zh-Hant-TW", "你好", "B"),
        ("zh-TW", "Hi", "B"), ("fr", "Hi", "B"),
    ])
    func `recipients get the closest language`(_ locale: String, _ title: String, _ body: String) throws {
        let renderer = MessageRenderer(try MessageContent(try JSONValue(parsing: Self.full.utf8)), message: UUID())
        let texts = renderer.content.texts(variant: 0, in: renderer.language(of: locale))
        #expect(texts.title == title && texts.body == body)
    }

    @Test func `a payload that is too long in a single language is refused, naming the language`() throws {
        var content = MessageContent(MessageTexts(body: "short"))
        try content.check()
        content.localized[LanguageTag("th")!] = MessageTexts(body: String(repeating: "ก", count: 1_360))
        #expect { try content.check() } throws: { ($0 as? ServiceError)?.detail?.hasSuffix("(th)") == true }
        #expect(content.sizes(variant: 0, language: LanguageTag("th")).apns! > 4_096)
    }

    @Test func `each push service gets its own form`() throws {
        let id = UUID()
        let renderer = MessageRenderer(try MessageContent(try JSONValue(parsing: Self.full.utf8)), message: id)
        let identity = PushIdentity(message: id, pushID: UUID(), expires: Date().addingTimeInterval(600))
        func device(_ service: PushService, _ token: String) -> Device {
            Device(
                id: id, space: 1, platform: .ios, service: service, token: token, bundleID: "org.example.app",
                locale: "de")
        }
        guard case .apns(let apns) = try renderer.renderPush(for: device(.apns, "00ff"), identity: identity, at: Date())
        else {
            return #expect(Bool(false))
        }
        let payload = try JSONValue(parsing: apns.payload.bytes)
        #expect(payload["aps"]?["alert"]?["title"] == .string("Hallo") && payload["aps"]?["badge"]?.text == "3")
        #expect(payload["aps"]?["mutable-content"]?.text == "1" && payload["n"]?.text == "1.10")
        #expect(payload["martlet"]?["message"] == .string(id.uuidString.lowercased()))
        #expect(
            apns.collapseID == "x" && apns.id == identity.pushID && apns.priority == .considerate
                && apns.topic == "org.example.app")
        guard case .fcm(let fcm) = try renderer.renderPush(for: device(.fcm, "t"), identity: identity, at: Date())
        else {
            return #expect(Bool(false))
        }
        #expect(
            fcm.title == "Hallo" && fcm.data["n"] == "1.10" && fcm.data["o"] == #"{"a":[true]}"#
                && fcm.priority == .normal)
        #expect(fcm.data["martlet"]?.contains(id.uuidString.lowercased()) == true && fcm.androidNotification.tag == "x")
        #expect(throws: PushFault.subscription(.invalidPublicKey)) {
            try renderer.renderPush(for: device(.webpush, "https://push.example/1"), identity: identity, at: Date())
        }
    }

    @Test func `without a collapse id, the message's own id keeps a resent message from being shown twice`() throws {
        let id = UUID()
        let renderer = MessageRenderer(MessageContent(MessageTexts(body: "b")), message: id)
        let device = Device(id: id, space: 1, platform: .ios, service: .apns, token: "00", bundleID: nil)
        let identity = PushIdentity(message: id, pushID: UUID(), expires: Date())
        #expect(throws: PushFault.noBundleID) { try renderer.renderPush(for: device, identity: identity, at: Date()) }
        guard
            case .apns(let push) = try renderer.renderPush(for: device, identity: identity, at: Date(), bundleID: "app")
        else {
            return #expect(Bool(false))
        }
        #expect(push.collapseID == id.uuidString.lowercased() && push.priority == .immediate)
    }

    @Test func `an incremented badge is stored with the delivery`() throws {
        let id = UUID()
        let renderer = MessageRenderer(
            try MessageContent(try JSONValue(parsing: #"{"badge":"increment","body":"b"}"#.utf8)), message: id)
        let device = Device(id: id, space: 1, platform: .ios, service: .apns, token: "00", bundleID: "app")
        for badge in [7, 8] {
            guard
                case .apns(let push) = try renderer.renderPush(
                    for: device, badge: badge, identity: .init(message: id, pushID: id, expires: Date()), at: Date())
            else { return }
            #expect(try JSONValue(parsing: push.payload.bytes)["aps"]?["badge"]?.text == "\(badge)")
        }
    }

    @Test func `a Live Activity is sent to Apple devices with its own topic`() throws {
        let id = UUID()
        let content = try MessageContent(
            try JSONValue(
                parsing:
                    #"{"liveActivity":{"event":"update","contentState":{"left":3},"stale":"2027-01-01T00:00:00Z"}}"#
                    .utf8))
        #expect(try MessageContent(content.json) == content)
        let renderer = MessageRenderer(content, message: id)
        let identity = PushIdentity(message: id, pushID: id, expires: Date())
        let device = Device(id: id, space: 1, platform: .ios, service: .apns, token: "00", bundleID: "app")
        guard case .apns(let push) = try renderer.renderPush(for: device, identity: identity, at: Date()) else {
            return #expect(Bool(false))
        }
        #expect(push.topic == "app.push-type.liveactivity" && push.pushType == .liveActivity)
        #expect(try JSONValue(parsing: push.payload.bytes)["aps"]?["content-state"]?["left"]?.text == "3")
        let android = Device(id: id, space: 1, platform: .android, service: .fcm, token: "t")
        #expect(throws: PushFault.unsupportedService) {
            try renderer.renderPush(for: android, identity: identity, at: Date())
        }
    }
}
