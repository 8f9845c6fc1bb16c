import Foundation
import MartletCore
import MartletPush

/// The content of a message: texts by language and variant, and how they are shown.
///
/// Requests, templates, rules and the table use the same JSON: `init(_:)` reads and validates it, `json` writes it.
struct MessageContent: Sendable, Equatable {
    /// The default texts, for readers of other languages.
    var texts = MessageTexts()
    var localized: [LanguageTag: MessageTexts] = [:]
    /// At most four. If empty, all recipients get the same text.
    var variants: [MessageVariant] = []
    var badge: MessageBadge?
    /// `default`, or the name of a sound file in the app.
    var sound: String?
    /// An https URL.
    var image: String?
    var category: String?
    var thread: String?
    /// A device shows only the latest of the messages with the same id. Nil stands for the message's own id, so that a
    /// message sent twice is shown once.
    var collapseID: String?
    /// The app's own members.
    var data: [JSONValue.Member] = []
    /// Wakes the app without showing anything.
    var isSilent = false
    var priority: MessagePriority?
    /// Nil: derived from the content.
    var pushType: APNsPushType?
    var liveActivity: LiveActivityContent?
    var interruptionLevel: APNsPayload.InterruptionLevel?
    /// From 0 to 1.
    var relevance: Double?
    var timeToLiveInSeconds: Int?
    /// Whether a push that may have been sent is never sent again.
    var atMostOnce = false

    init(_ texts: MessageTexts = MessageTexts()) {
        self.texts = texts
    }

    /// The push type sent to APNs.
    var effectivePushType: APNsPushType {
        pushType ?? (liveActivity != nil ? .liveActivity : isSilent ? .background : .alert)
    }

    /// The push services that can deliver the content. Only APNs supports types other than alert and background.
    var services: Set<PushService> {
        [.alert, .background].contains(effectivePushType) ? Set(PushService.allCases) : [.apns]
    }

    /// The number of texts to choose from, at least 1.
    var variantCount: Int { max(variants.count, 1) }

    /// The texts for a reader. Each missing text falls back in this order: the variant in the language, the variant,
    /// the message in the language, the message.
    func texts(variant: Int, in language: LanguageTag?) -> MessageTexts {
        let own = variants.indices.contains(variant) ? variants[variant] : nil
        let layers: [MessageTexts?] = [
            language.flatMap { own?.localized[$0] }, own?.texts, language.flatMap { localized[$0] }, texts,
        ]
        return layers.compactMap(\.self).reduce(MessageTexts()) { $0.over($1) }
    }

    /// All languages of the message and its variants, sorted.
    var languages: [LanguageTag] {
        Set(localized.keys).union(variants.flatMap(\.localized.keys)).sorted { $0.text < $1.text }
    }
}

/// The content of a Live Activity push. Its `timestamp` is the time of sending.
struct LiveActivityContent: Sendable, Equatable {
    var event: APNsLiveActivity.Event
    var contentState: JSONValue?
    var staleDate: Date?
}
