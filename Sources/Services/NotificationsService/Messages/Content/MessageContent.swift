import Foundation
import MartletCore
import MartletPush

/// What devices get: texts in languages and variants, and how they are shown.
///
/// The same as JSON in requests, templates, rules and the table; `init(_:)` reads and checks it, `json` writes it.
struct MessageContent: Sendable, Equatable {
    /// For who reads none of the languages.
    var texts = MessageTexts()
    var localized: [LanguageTag: MessageTexts] = [:]
    /// At most four; empty: one text for everybody.
    var variants: [MessageVariant] = []
    var badge: MessageBadge?
    /// `default`, or a file of the app.
    var sound: String?
    /// An https URL.
    var image: String?
    var category: String?
    var thread: String?
    /// Of messages with the same one, a device shows the latest. Nil: the message's own id, so that what is sent twice
    /// is shown once.
    var collapseID: String?
    /// The app's own members.
    var data: [JSONValue.Member] = []
    /// Wakes the app and shows nothing.
    var isSilent = false
    var priority: MessagePriority?
    /// Nil: as the content is.
    var pushType: APNsPushType?
    var liveActivity: LiveActivityContent?
    var interruptionLevel: APNsPayload.InterruptionLevel?
    /// From 0 to 1.
    var relevance: Double?
    var timeToLiveInSeconds: Int?
    /// A push that may have left is not sent again.
    var atMostOnce = false

    init(_ texts: MessageTexts = MessageTexts()) {
        self.texts = texts
    }

    /// With which APNs gets it.
    var effectivePushType: APNsPushType {
        pushType ?? (liveActivity != nil ? .liveActivity : isSilent ? .background : .alert)
    }

    /// What is more than alerts and background work is known to Apple's devices only.
    var services: Set<PushService> {
        [.alert, .background].contains(effectivePushType) ? Set(PushService.allCases) : [.apns]
    }

    /// How many texts there are to choose from.
    var variantCount: Int { max(variants.count, 1) }

    /// What is read: of the variant in the language, else of the variant, else of the message in the language, else of
    /// the message.
    func texts(variant: Int, in language: LanguageTag?) -> MessageTexts {
        let own = variants.indices.contains(variant) ? variants[variant] : nil
        let layers: [MessageTexts?] = [
            language.flatMap { own?.localized[$0] }, own?.texts, language.flatMap { localized[$0] }, texts,
        ]
        return layers.compactMap(\.self).reduce(MessageTexts()) { $0.over($1) }
    }

    /// All languages of the message and its variants, in order.
    var languages: [LanguageTag] {
        Set(localized.keys).union(variants.flatMap(\.localized.keys)).sorted { $0.text < $1.text }
    }
}

/// A Live Activity's push. `timestamp` is the time of sending.
struct LiveActivityContent: Sendable, Equatable {
    var event: APNsLiveActivity.Event
    var contentState: JSONValue?
    var staleDate: Date?
}
