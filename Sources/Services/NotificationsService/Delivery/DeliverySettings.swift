import MartletHTTP

/// Settings of delivery, all beginning with `push.`.
struct DeliverySettings: Sendable {
    init() {}

    init(_ settings: Settings) throws {}
}
