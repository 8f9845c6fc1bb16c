import Crypto
import Foundation
import MartletCore
import MartletLocalization
import MartletPush
import Synchronization

/// Renders the pushes of one message. Each payload is encoded once for all devices that get the same one.
///
/// Keep the renderer while the message is being sent. Its caches are bounded, even if every device gets its own
/// badge number.
final class MessageRenderer: Sendable {
    static let maximumPayloads = 128
    static let maximumLocales = 1_024

    private struct Key: Hashable {
        var isWeb: Bool
        var language: LanguageTag?
        var variant: Int
        var badge: Int?
    }

    private struct Cache {
        var payloads: [Key: EncodedPayload] = [:]
        var languages: [String: LanguageTag?] = [:]
    }

    let content: MessageContent
    let message: UUID
    private let messageText: String
    private let languages: Set<LanguageTag>
    private let data: [JSONValue.Member]
    private let dataTexts: [String: String]
    private let collapseID: String?
    private let topic: String
    private let cache = Mutex(Cache())

    init(_ content: MessageContent, message: UUID) {
        self.content = content
        self.message = message
        messageText = message.uuidString.lowercased()
        languages = Set(content.languages)
        let own =
            [JSONValue.Member("message", .string(messageText))]
            + (content.image.map { [.init("image", .string($0))] } ?? [])
        data = content.data + [.init("martlet", .object(own))]
        dataTexts = Dictionary(data.map { ($0.name, $0.value.plainText) }) { $1 }
        let isShown = [.alert, .background].contains(content.effectivePushType)
        collapseID = content.collapseID ?? (isShown ? messageText : nil)
        topic = Self.topic(content.collapseID ?? messageText)
    }

    /// Renders the push for a device.
    ///
    /// - Parameters:
    ///   - badge: The badge number if the content increments badges; ignored otherwise.
    ///   - time: The time of sending.
    ///   - bundleID: The bundle id for devices that were registered without one.
    /// - Throws: `PushFault` when the push service would reject the message.
    func renderPush(
        for device: Device, variant: Int = 0, badge: Int? = nil, identity: PushIdentity, at time: Date,
        bundleID: String? = nil
    ) throws(PushFault) -> PushMessage {
        let language = language(of: device.locale)
        let badge = self.badge(badge)
        guard content.services.contains(device.service) else { throw .unsupportedService }
        switch device.service {
        case .apns:
            guard let bundleID = device.bundleID ?? bundleID else { throw .noBundleID }
            let notification = APNsNotification(
                to: device.token,
                payload(.init(isWeb: false, language: language, variant: variant, badge: badge), at: time),
                pushType: content.effectivePushType, bundleID: bundleID, priority: apnsPriority,
                expiration: identity.expires,
                collapseID: collapseID, id: identity.pushID)
            if let fault = notification.fault { throw .apns(fault) }
            return .apns(notification)
        case .fcm:
            let message = fcm(to: device.token, variant, language, badge, expires: identity.expires, at: time)
            if let fault = message.fault { throw .fcm(fault) }
            return .fcm(message)
        case .webpush:
            let message = WebPushMessage(
                payload(.init(isWeb: true, language: language, variant: variant, badge: badge), at: time),
                timeToLive: Self.timeLeft(until: identity.expires, at: time),
                urgency: urgency, topic: topic)
            if let fault = message.fault { throw .webPush(fault) }
            do {
                return .webPush(
                    message,
                    try WebPushSubscription(
                        endpoint: device.token, publicKey: device.publicKey ?? "",
                        authenticationSecret: device.authSecret ?? ""))
            } catch {
                throw .subscription(error)
            }
        }
    }

    /// The message's best language for a locale such as `de-AT`; nil stands for the default texts.
    func language(of locale: String?) -> LanguageTag? {
        guard let locale, !languages.isEmpty else { return nil }
        return cache.withLock { cache in
            if let known = cache.languages[locale] { return known }
            let language = LanguageTag(locale)?.closest(in: languages)
            if cache.languages.count < Self.maximumLocales { cache.languages[locale] = .some(language) }
            return language
        }
    }

    private func payload(_ key: Key, at time: Date) -> EncodedPayload {
        if let known = cache.withLock({ $0.payloads[key] }) { return known }
        let payload =
            key.isWeb
            ? EncodedPayload(webJSON(key.variant, key.language, key.badge))
            : apnsPayload(key.variant, key.language, key.badge, at: time).encoded()
        // A Live Activity payload contains its creation time and is rendered each time. Otherwise devices would mistake
        // an outdated state for the current one.
        guard content.liveActivity == nil else { return payload }
        cache.withLock { if $0.payloads.count < Self.maximumPayloads { $0.payloads[key] = payload } }
        return payload
    }

    private func badge(_ counted: Int?) -> Int? {
        switch content.badge {
        case .number(let number): number
        case .increment: counted
        case nil: nil
        }
    }
}

// MARK: - Payloads

extension MessageRenderer {
    private func apnsPayload(_ variant: Int, _ language: LanguageTag?, _ badge: Int?, at time: Date) -> APNsPayload {
        let texts = content.texts(variant: variant, in: language)
        var payload = APNsPayload(
            alert: content.isSilent || texts.isEmpty
                ? nil : APNsAlert(title: texts.title, subtitle: texts.subtitle, body: texts.body))
        payload.badge = badge
        payload.sound = content.sound.map { .named($0) }
        payload.threadID = content.thread
        payload.category = content.category
        payload.isContentAvailable = content.isSilent
        payload.isContentMutable = content.image != nil
        payload.interruptionLevel = content.interruptionLevel
        payload.relevanceScore = content.relevance
        payload.liveActivity = content.liveActivity.map {
            APNsLiveActivity($0.event, contentState: $0.contentState, timestamp: time, staleDate: $0.staleDate)
        }
        payload.custom = data
        return payload
    }

    private func fcm(
        to token: String, _ variant: Int, _ language: LanguageTag?, _ badge: Int?, expires: Date, at time: Date
    )
        -> FCMMessage
    {
        var message = FCMMessage(to: .token(token))
        if !content.isSilent {
            let texts = content.texts(variant: variant, in: language)
            message.title = texts.title
            message.body = texts.body
            message.imageURL = content.image
            message.androidNotification.sound = content.sound
            message.androidNotification.channelID = content.category
            // The tag makes a repetition replace the earlier push. A collapse key would not do, because FCM keeps only
            // four of them for an offline device.
            message.androidNotification.tag = content.collapseID ?? messageText
            message.androidNotification.count = badge
        }
        message.collapseKey = content.collapseID
        message.data = dataTexts
        message.priority = content.isSilent || (content.priority ?? .high) != .high ? .normal : .high
        message.timeToLive = Self.timeLeft(until: expires, at: time)
        message.apnsPayload = apnsPayload(variant, language, badge, at: time)
        message.apnsPayload?.custom = []
        message.apnsHeaders = [
            "apns-push-type": content.effectivePushType.rawValue,
            "apns-priority": "\((apnsPriority ?? defaultPriority).rawValue)",
        ]
        if let collapseID { message.apnsHeaders["apns-collapse-id"] = collapseID }
        return message
    }

    /// The payload for the page's service worker:
    /// `{"title","body","image","badge","tag","silent","data":{…,"martlet":{…}}}`.
    private func webJSON(_ variant: Int, _ language: LanguageTag?, _ badge: Int?) -> JSONValue {
        var members =
            content.isSilent
            ? [JSONValue.Member("silent", .bool(true))] : content.texts(variant: variant, in: language).members
        if let image = content.image { members.append(.init("image", .string(image))) }
        if let badge { members.append(.init("badge", .number("\(badge)"))) }
        members.append(.init("tag", .string(content.collapseID ?? messageText)))
        members.append(.init("data", .object(data)))
        return .object(members)
    }

    private var defaultPriority: APNsPriority { content.effectivePushType == .background ? .considerate : .immediate }

    private var apnsPriority: APNsPriority? {
        switch content.priority {
        case _ where content.effectivePushType == .background: .considerate
        case .high: .immediate
        case .normal: .considerate
        case .low: .low
        case nil: nil
        }
    }

    private var urgency: WebPushMessage.Urgency? {
        switch content.priority {
        case .high: .high
        case .normal: .normal
        case .low: .low
        case nil: content.isSilent ? .low : nil
        }
    }

    private static func timeLeft(until expires: Date, at time: Date) -> Duration {
        .seconds(min(max(Int(expires.timeIntervalSince(time)), 0), MessageContent.maximumTimeToLiveInSeconds))
    }

    /// A Web Push topic has at most 32 base64url characters, so use the beginning of a digest.
    private static func topic(_ text: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Data(text.utf8)).prefix(24)))
    }
}

extension JSONValue {
    /// A string as it is, anything else as JSON text, because FCM data holds strings only.
    var plainText: String {
        if case .string(let text) = self { text } else { text }
    }
}
