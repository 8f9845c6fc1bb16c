import Foundation

/// Who gets how much of the room that there is: each space as much as any other, and of a space each message, by each
/// of its push services. So one app's million does not hold up another's single push, nor its own next message.
struct ClaimPlan {
    /// Rows that one statement claims at the most.
    static let maximumRows = 1_000

    /// How many deliveries may be claimed; counted down by what the plan gives.
    private(set) var room: Int
    /// Of them, those that are to arrive at most once.
    private(set) var onceRoom: Int
    /// What the message's first attempt makes of badges, and whether it is to arrive at most once.
    let traits: (UUID) -> (badge: MessageBadge?, isAtMostOnce: Bool)

    init(room: Int, onceRoom: Int, traits: @escaping (UUID) -> (badge: MessageBadge?, isAtMostOnce: Bool)) {
        self.room = min(room, Self.maximumRows)
        self.onceRoom = onceRoom
        self.traits = traits
    }

    /// - Parameters:
    ///   - ofSpace: how many of the space.
    ///   - ofLane: how many of what the work is of; nil: any number.
    mutating func shares(_ work: [DeliveryQueue.Work], ofSpace: (Int32) -> Int, ofLane: (DeliveryQueue.Work) -> Int?)
        -> [ClaimShare]
    {
        var lanes: [DeliveryLane: Int] = [:]
        for item in work where lanes[item.lane] == nil { lanes[item.lane] = ofLane(item) ?? Int.max }
        let open = Dictionary(grouping: work.filter { lanes[$0.lane, default: 0] > 0 }, by: \.lane.space)
        let forEach = max(1, room / max(1, open.count))
        var shares: [ClaimShare] = []
        for (space, items) in open {
            var here = min(forEach, ofSpace(space))
            let ofItem = max(1, here / items.count)
            for item in items {
                let (badge, isAtMostOnce) = traits(item.message)
                let count = min(ofItem, here, room, lanes[item.lane, default: 0], isAtMostOnce ? onceRoom : Int.max)
                guard count > 0 else { continue }
                shares.append(ClaimShare(message: item.message, service: item.lane.service, limit: count, badge: badge))
                here -= count
                room -= count
                lanes[item.lane, default: 0] -= count
                if isAtMostOnce { onceRoom -= count }
            }
        }
        return shares
    }
}
