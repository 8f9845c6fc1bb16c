import Foundation
import MartletCore
import Testing

@testable import MartletPush

@Suite struct APNsPayloadTests {
    @Test func `A payload has exactly what was set`() {
        #expect(APNsPayload().json.text == #"{"aps":{}}"#)
        var alert = APNsAlert(title: "Grüße", subtitle: "from \"home\"", body: "a\nb")
        #expect(
            APNsPayload(alert: alert).json.text
                == #"{"aps":{"alert":{"title":"Grüße","subtitle":"from \"home\"","body":"a\u000ab"}}}"#)
        alert = APNsAlert()
        (alert.titleKey, alert.titleArguments) = ("GAME", ["Ada", "7"])
        (alert.subtitleKey, alert.bodyKey, alert.bodyArguments, alert.launchImage) = (
            "SUB", "BODY", ["x"], "launch.png"
        )
        #expect(
            APNsPayload(alert: alert).json.text
                == #"{"aps":{"alert":{"launch-image":"launch.png","title-loc-key":"GAME","title-loc-args":["Ada","7"],"subtitle-loc-key":"SUB","loc-key":"BODY","loc-args":["x"]}}}"#
        )
    }

    @Test func `All of Apple's keys can be set`() {
        var payload = APNsPayload()
        payload.badge = 0
        payload.sound = .critical(name: "alarm.caf", volume: 0.5)
        payload.threadID = "t"
        payload.category = "c"
        payload.isContentAvailable = true
        payload.isContentMutable = true
        payload.targetContentID = "window"
        payload.interruptionLevel = .timeSensitive
        payload.relevanceScore = 0.25
        payload.filterCriteria = "f"
        payload.custom = [
            .init("big", .number("12345678901234567890")), .init("aps", .string("not the app's")), .init("n", .null),
        ]
        #expect(
            payload.json.text
                == #"{"aps":{"badge":0,"sound":{"critical":1,"name":"alarm.caf","volume":0.5},"thread-id":"t","category":"c","content-available":1,"mutable-content":1,"target-content-id":"window","interruption-level":"time-sensitive","relevance-score":0.25,"filter-criteria":"f"},"big":12345678901234567890,"n":null}"#
        )
        payload = APNsPayload()
        (payload.sound, payload.relevanceScore) = (.named("default"), .nan)
        #expect(payload.json.text == #"{"aps":{"sound":"default"}}"#)
        payload.sound = .critical(name: "a", volume: .infinity)
        #expect(payload.json.text == #"{"aps":{"sound":{"critical":1,"name":"a","volume":1.0}}}"#)
    }

    @Test func `A Live Activity starts, is updated and ends`() {
        let time = Date(timeIntervalSince1970: 1_795_200_000.7)
        func text(_ event: APNsLiveActivity.Event, _ state: JSONValue?, stale: Date? = nil) -> String {
            var payload = APNsPayload()
            payload.liveActivity = APNsLiveActivity(event, contentState: state, timestamp: time, staleDate: stale)
            return payload.json.text
        }
        let state = JSONValue.object([.init("score", .number("2"))])
        #expect(
            text(.start(attributesType: "Match", attributes: .object([.init("team", .string("A"))])), state)
                == #"{"aps":{"timestamp":1795200000,"event":"start","attributes-type":"Match","attributes":{"team":"A"},"content-state":{"score":2}}}"#
        )
        #expect(
            text(.update, state, stale: time + 60)
                == #"{"aps":{"timestamp":1795200000,"event":"update","content-state":{"score":2},"stale-date":1795200060}}"#
        )
        #expect(
            text(.end(dismissal: time + 5), nil)
                == #"{"aps":{"timestamp":1795200000,"event":"end","dismissal-date":1795200005}}"#)
        #expect(
            text(.end(dismissal: Date(timeIntervalSince1970: 1e300)), nil).contains(
                #""dismissal-date":1000000000000000"#))
    }

    @Test func `The size is that of the bytes sent`() {
        let payload = APNsPayload(alert: APNsAlert(body: "ü😀")).encoded()
        #expect(payload.sizeInBytes == payload.bytes.count)
        #expect(String(decoding: payload.bytes, as: UTF8.self) == #"{"aps":{"alert":{"body":"ü😀"}}}"#)
    }

    private func message(sizeInBytes: Int, _ type: APNsPushType = .alert) -> APNsNotification {
        let empty = APNsPayload(alert: APNsAlert(body: "")).encoded().sizeInBytes
        let text = String(repeating: "x", count: sizeInBytes - empty)
        return APNsNotification(
            to: "00ff", APNsPayload(alert: APNsAlert(body: text)).encoded(), pushType: type, bundleID: "com.example.app"
        )
    }

    @Test func `Payloads that APNs would refuse are refused before sending`() {
        #expect(message(sizeInBytes: 4_096).fault == nil)
        #expect(message(sizeInBytes: 4_097).fault == .payloadTooLarge(sizeInBytes: 4_097, limit: 4_096))
        #expect(message(sizeInBytes: 5_120, .voip).fault == nil)
        #expect(message(sizeInBytes: 5_121, .voip).fault == .payloadTooLarge(sizeInBytes: 5_121, limit: 5_120))
        var message = message(sizeInBytes: 100)
        for token in ["", "0", "0g", "../../x", "00 ff", String(repeating: "0", count: 402), "ＡＡ"] {
            message.deviceToken = token
            #expect(message.fault == .invalidDeviceToken, "\(token)")
        }
        message.deviceToken = "00FFab"
        #expect(message.fault == nil)
        message.collapseID = String(repeating: "ü", count: 32)
        #expect(message.fault == nil)
        for identifier in ["", String(repeating: "ü", count: 33), "a\r\nb"] {
            message.collapseID = identifier
            #expect(message.fault == .invalidCollapseID)
        }
        message.collapseID = nil
        for topic in ["", "a b", "a\n", String(repeating: "t", count: 256)] {
            message.topic = topic
            #expect(message.fault == .invalidTopic)
        }
        message.topic = "t"
        message.payload = EncodedPayload()
        #expect(message.fault == .payloadEmpty)
        var background = APNsNotification(to: "00", APNsPayload().encoded(), pushType: .background, bundleID: "a")
        #expect(background.priority == .considerate && background.fault == nil)
        background.priority = .immediate
        #expect(background.fault == .invalidPriority)
    }

    @Test(arguments: [
        (APNsPushType.alert, "a.b"), (.background, "a.b"), (.mdm, "a.b"), (.voip, "a.b.voip"),
        (.complication, "a.b.complication"),
        (.fileProvider, "a.b.pushkit.fileprovider"), (.location, "a.b.location-query"), (.pushToTalk, "a.b.voip-ptt"),
        (.liveActivity, "a.b.push-type.liveactivity"), (.widgets, "a.b.push-type.widgets"),
        (.controls, "a.b.push-type.controls"),
    ])
    func `Each push type has its topic`(type: APNsPushType, topic: String) {
        #expect(type.topic(bundleID: "a.b") == topic)
    }
}
