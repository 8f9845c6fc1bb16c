import Foundation
import MartletKit

/// FindMyBike: owners report missing bikes, and the phones of others report where they are.
public struct FindMyBikeStory: Sendable {
    static let station = GeoPoint(latitude: 46.949, longitude: 7.439)

    let story: Story
    let simulators: Simulators
    let app: ExampleApp

    public static func run(_ developer: Developer, _ simulators: Simulators, _ story: Story = Story()) async throws {
        let app = try await FindMyBike.setUp(developer, simulators)
        try await FindMyBikeStory(story: story, simulators: simulators, app: app).tell()
    }

    func tell() async throws {
        let (ann, bob, eve) = (try await phone("Ann"), try await phone("Bob"), try await phone("Eve"))
        try await needKey()
        let bike = try await register(ann, bob)
        let missing = try await reportMissing(bike, ann, bob)
        try await see(missing, ann, bob, eve)
        try await find(missing, ann, bob)
        try await developBeside(ann)
    }

    // MARK: Chapters

    func needKey() async throws {
        story.chapter("1. Keys")
        try await story.refuses(.unauthorized, "A call without the app's secret") {
            try await app.phone(of: "Mallory") { $0.secret = "ms_unknown" }.storage.find(Bike.query())
        }
    }

    func register(_ ann: BikePhone, _ bob: BikePhone) async throws -> Stored<Bike> {
        story.chapter("2. A bike")
        let bike = try await ann.app.register("Kona", "Dew", colour: "blue", beacon: 4_711)
        story.says("Ann registers her blue Kona, whose beacon is number \(bike.beacon).")
        let seen = try await bob.app.martlet.storage.get(Bike.self, id: bike.id)
        try story.check(seen == nil, "Bob reads a bike that is not missing.")
        story.says("Bob does not learn that it exists.")
        try await story.refuses(.forbidden, "Bob registers a bike as Ann's") {
            try await bob.app.martlet.storage.create(Bike(owner: ann.userID, make: "Kona", beacon: 1))
        }
        return bike
    }

    /// Bob's phone learns of it without asking, and knows it without a connection.
    func reportMissing(_ bike: Stored<Bike>, _ ann: BikePhone, _ bob: BikePhone) async throws -> Stored<Bike> {
        story.chapter("3. It is missing")
        let list = try await bob.app.missingBikes()
        try await list.sync()
        let following = Task { try await list.keepInSync() }
        defer { following.cancel() }
        let missing = try await ann.app.report(bike, missing: true)
        try await Story.wait(for: "Bob's phone to know the missing bike") {
            try await bob.app.missingBike(beacon: 4_711) != nil
        }
        guard let known = try await bob.app.missingBike(beacon: 4_711) else { return missing }
        try story.check(known.owner == nil, "Bob's phone knows whose bike it is.")
        story.says("Ann reports it missing. Seconds later it is on the list that Bob's phone keeps, without her id.")
        try await story.refuses(.forbidden, "Bob says that it is found") {
            try await bob.app.report(known, missing: false)
        }
        return missing
    }

    func see(_ bike: Stored<Bike>, _ ann: BikePhone, _ bob: BikePhone, _ eve: BikePhone) async throws {
        story.chapter("4. Bob sees it")
        await bob.radio.set(isOn: false)
        guard let known = try await bob.app.missingBike(beacon: 4_711) else {
            throw StoryError("Without a connection, Bob's phone does not recognise the bike.")
        }
        try await bob.app.sighted(known, at: nil)
        try story.check(try await bob.app.waitingReports() == 1, "Bob's report does not wait on his phone.")
        story.says("In a cellar without a connection, Bob's phone recognises the beacon. Its report waits.")
        await bob.radio.set(isOn: true)
        try await bob.app.sighted(known, at: Self.station)
        try story.check(try await bob.app.waitingReports() == 0, "Bob's reports were not sent.")
        story.says("Upstairs, Bob agrees to share his place. Both reports are sent, the first one without a place.")
        let places = try await ann.app.sightings(of: bike).map(\.place)
        try story.check(places == [Self.station, nil], "Ann reads these places: \(places).")
        story.says("Ann reads both, and the place of the second.")
        for other in [bob, eve] {
            let count = try await other.app.martlet.storage.count(Sighting.query())
            try story.check(count == 0, "\(other.owner) reads \(count) sightings of Ann's bike.")
        }
        story.says("Eve reads none of them, and neither does Bob, who wrote them.")
        try await story.refuses(.forbidden, "A place without consent") {
            try await eve.app.martlet.storage.create(
                Sighting(bike: Pointer(bike), seen: Date(), place: Self.station, consented: nil))
        }
        try await checkPushes(.live, to: ann, notTo: [bob, eve], count: 2)
    }

    func find(_ bike: Stored<Bike>, _ ann: BikePhone, _ bob: BikePhone) async throws {
        story.chapter("5. It is found")
        _ = try await ann.app.report(bike, missing: false)
        try await bob.app.missingBikes().sync()
        try story.check(try await bob.app.missingBike(beacon: 4_711) == nil, "Bob's phone still lists the bike.")
        story.says("Ann has it back, and it has left Bob's phone.")
        try await story.refuses(.forbidden, "Reporting a bike that is not missing") {
            try await bob.app.martlet.storage.create(
                Sighting(bike: Pointer(id: bike.id), seen: Date(), place: nil, consented: nil))
        }
    }

    /// The same app in development, with other data and another push service.
    func developBeside(_ ann: BikePhone) async throws {
        story.chapter("6. The next version is being developed")
        let (dora, finn) = (try await phone("Dora", in: app.inTest), try await phone("Finn", in: app.inTest))
        let bike = try await dora.app.register("Prototype", "0", colour: "grey", beacon: 1)
        let missing = try await dora.app.report(bike, missing: true)
        let atAnns = try await ann.app.martlet.storage.get(Bike.self, id: bike.id)
        try story.check(atAnns == nil, "Ann's phone sees a bike of the test environment.")
        let count = try await finn.app.martlet.storage.count(Bike.query())
        try story.check(count == 1, "Finn's debug build sees \(count) bikes.")
        story.says("Dora and Finn run debug builds. Their missing bike exists in the test environment alone.")
        try await finn.app.sighted(missing, at: nil)
        try await checkPushes(.test, to: dora, notTo: [], count: 1)
        try await checkPushes(.live, to: ann, notTo: [dora, finn], count: 2)
    }

    // MARK: Phones

    func phone(_ owner: String, in app: ExampleApp? = nil) async throws -> BikePhone {
        let app = app ?? self.app
        let radio = Radio()
        let martlet = app.phone(of: owner) { $0.transport = radio }
        let user = try await martlet.users.signInAnonymously(profile: ["name": .string(owner)])
        let token = SimulatedAPNs.token()
        if simulators.push != nil {
            try await martlet.notifications.register(
                token: token, environment: app.environment == .live ? .production : .sandbox)
        }
        return BikePhone(
            owner: owner, app: FindMyBike(martlet: martlet), radio: radio, userID: user.id, token: token)
    }

    private func checkPushes(
        _ environment: Martlet.Environment, to phone: BikePhone, notTo others: [BikePhone], count: Int
    ) async throws {
        guard let apns = simulators.apns(environment) else {
            return story.says("(Without a simulated APNs, nothing shows whether a push arrives.)")
        }
        try await Story.wait(for: "\(count) pushes at \(phone.owner)'s phone") {
            try apns.payloads(for: phone.token).count >= count
        }
        let arrived = try apns.payloads(for: phone.token)
        try story.check(arrived.count == count, "\(phone.owner)'s phone got \(arrived.count) pushes.")
        try story.check(!arrived.contains { $0.text.contains("latitude") }, "A push says where the bike is.")
        for other in others {
            let count = try apns.payloads(for: other.token).count
            try story.check(count == 0, "\(other.owner)'s phone got \(count) pushes.")
        }
        let service = environment == .live ? "production" : "sandbox"
        story.says("Apple's \(service) service has brought \(count) to \(phone.owner)'s phone, and none to others.")
    }
}

/// FindMyBike on the phone of somebody in the story.
struct BikePhone: Sendable {
    let owner: String
    let app: FindMyBike
    let radio: Radio
    let userID: String
    /// The phone's token at the simulated APNs.
    let token: Data
}
