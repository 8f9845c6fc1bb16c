import Foundation
import MartletAPI
import MartletCore
import MartletPush

/// The size of a push in bytes per push service, for one language and variant.
struct PushSizes: Sendable, Equatable {
    var apns: Int?
    var fcm: Int?
    var webPush: Int?
}

extension MessageContent {
    /// Checks every language and variant against the limits of the push services, before anything is queued.
    ///
    /// - Parameter services: The push services of the devices that the message is for.
    /// - Throws: `invalid-body` that names the variant and language.
    func check(for services: Set<PushService> = Set(PushService.allCases)) throws {
        for (variant, language) in combinations {
            guard let fault = fault(variant, language, services) else { continue }
            let place = [variants.isEmpty ? nil : variants[variant].name, language?.text].compactMap(\.self).joined(
                separator: ", ")
            throw ServiceError(.invalidBody, fault.sentence + (place.isEmpty ? "" : " (\(place))"), field: "content")
        }
    }

    /// All texts by variant and language. A nil language stands for the default texts.
    var combinations: [(variant: Int, language: LanguageTag?)] {
        let languages: [LanguageTag?] = [nil] + languages
        return (0..<variantCount).flatMap { variant in languages.map { (variant, $0) } }
    }

    /// The size of a push, including its identity and the largest badge.
    func sizes(variant: Int, language: LanguageTag?) -> PushSizes {
        var sizes = PushSizes()
        for service in services {
            let size = size(service, variant, language)
            switch service {
            case .apns: sizes.apns = size
            case .fcm: sizes.fcm = size
            case .webpush: sizes.webPush = size
            }
        }
        return sizes
    }

    /// Also returns the size when it is over the limit.
    private func size(_ service: PushService, _ variant: Int, _ language: LanguageTag?) -> Int? {
        do throws(PushFault) {
            switch try probe(service, variant, language) {
            case .apns(let notification): return notification.payload.sizeInBytes
            case .fcm(let message): return message.payloadSizeInBytes
            case .webPush(let message, _): return message.payload.sizeInBytes
            }
        } catch {
            return error.sizeInBytes
        }
    }

    /// The reason why a push service would reject a text; nil if none would.
    func fault(_ variant: Int, _ language: LanguageTag?, _ wanted: Set<PushService>) -> PushFault? {
        for service in PushService.allCases where services.contains(service) && wanted.contains(service) {
            do throws(PushFault) {
                _ = try probe(service, variant, language)
            } catch {
                return error
            }
        }
        return nil
    }

    /// Renders a push to a made-up device.
    private func probe(_ service: PushService, _ variant: Int, _ language: LanguageTag?) throws(PushFault)
        -> PushMessage
    {
        let message = UUID()
        let device = Device(
            id: message, space: 0, platform: .ios, service: service,
            token: service == .webpush ? "https://push.example/1" : "00",
            publicKey: Self.probeKey, authSecret: Self.probeSecret, bundleID: "app", locale: language?.text)
        return try MessageRenderer(self, message: message).renderPush(
            for: device, variant: variant, badge: 99_999,
            identity: PushIdentity(message: message, pushID: message, expires: Self.probeTime), at: Self.probeTime)
    }

    /// Has as many digits as the current time, which the payload of a Live Activity contains.
    private static let probeTime = Date(timeIntervalSince1970: 1_800_000_000)
    /// From RFC 8291, appendix A.
    private static let probeKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let probeSecret = "BTBZMqHH6r4Tts7J_aSIgg"
}
