import Foundation
import MartletKit

/// Many people use SportLook at the same time, and the time of each call is measured.
///
/// The run has two parts: first a few people at a time and without pauses, as fast as the machine can; then all at the
/// same time, with the pauses of real users.
///
/// The server slows down sign-ups from one address, so only some people register. The others have moved here from
/// another server, with their passwords, and sign in.
public struct SportLookLoad: Sendable {
    private static let registeringCount = 60
    private static let password = "correct horse battery"
    /// The hash of the password, with the lowest cost of bcrypt. The server replaces it at the first sign-in.
    private static let passwordHash = "$2b$04$SportLookExampleUsersuIuHXND.BuJEG3xMJANBlXVBzn87QPQy"
    /// The time limit of each call, from the description of the app.
    private static let longest: TimeInterval = 30
    /// The goal for each call's 99th percentile. Missing it does not fail the run, because it depends on the machine.
    private static let goal: TimeInterval = 0.2
    private static let eventCount = 50

    let app: ExampleApp
    /// How many people use the app at the same moment.
    let atATime: Int
    /// The average time in seconds for which people look at a screen before the next call.
    let pause: TimeInterval
    /// Whether it is the first time that people use the app, so that some register.
    let isFirst: Bool
    private let times = CallTimes()
    private let transport = SocketTransport()

    /// - Throws: ``StoryError`` if a call fails or takes more than 30 s.
    public static func run(
        _ developer: Developer, people: Int = 1_000, atATime: Int = 64, pause: Double = 10,
        _ story: Story = Story()
    ) async throws {
        let app = try await SportLook.setUp(developer, Simulators(push: nil, provider: nil))
        let rush = SportLookLoad(app: app, atATime: atATime, pause: 0, isFirst: true)
        try await rush.moveHere(people)
        let events = try await rush.arrange()
        story.says("\(people) people use SportLook, \(atATime) at a time, without pauses.")
        try await rush.report(people, events, story)
        story.says("\(people) people use SportLook at the same time, each with a call every \(pause) s on average.")
        try await SportLookLoad(app: app, atATime: people, pause: pause, isFirst: false).report(people, events, story)
    }

    private func report(_ people: Int, _ events: [Stored<Event>], _ story: Story) async throws {
        let (start, startOfCPU) = (Date(), Self.secondsOfCPU)
        try await run(people, events)
        let (seconds, secondsOfCPU) = (Date().timeIntervalSince(start), Self.secondsOfCPU - startOfCPU)
        for line in await times.table() { story.says(line) }
        let count = await times.count
        story.says("\(count) calls in \(Int(seconds)) s: \(Int(Double(count) / seconds)) a second.")
        story.says("The simulated phones themselves took \(Int(secondsOfCPU)) s of processor time.")
        let slow = await times.calls(slowerThan: Self.goal)
        let names = slow.isEmpty ? "none" : slow.joined(separator: ", ")
        story.says("Calls whose p99 is above \(Int(1_000 * Self.goal)) ms: \(names).")
        let longest = await times.longest
        try story.check(longest < Self.longest, "A call took \(longest) s.")
    }

    /// The CPU time of this process. POSIX counts it in microseconds.
    private static var secondsOfCPU: TimeInterval { TimeInterval(clock()) / 1_000_000 }

    /// Imports those who do not register, a hundred with each call.
    private func moveHere(_ people: Int) async throws {
        for start in stride(from: Self.registeringCount, to: people, by: 100) {
            let users = try (start..<min(start + 100, people)).map { number -> JSON in
                [
                    "email": .string(Self.address(number)), "passwordHash": .string(Self.passwordHash),
                    "profile": try JSON(encoding: Self.profile(number)),
                ]
            }
            try await app.manage("POST", "auth/users/import", ["users": .array(users)])
        }
    }

    private func run(_ people: Int, _ events: [Stored<Event>]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<people {
                if number >= atATime { try await group.next() }
                group.addTask { try await use(number, events[number % events.count]) }
            }
            try await group.waitForAll()
        }
    }

    private func arrange() async throws -> [Stored<Event>] {
        let host = try await signIn(-1)
        var events: [Stored<Event>] = []
        for number in 0..<Self.eventCount {
            events.append(try await host.arrange("Event \(number)", "tennis", at: Self.place(number), on: Date()))
        }
        return events
    }

    /// What a person does: looks around, joins an event, chats, and leaves.
    private func use(_ number: Int, _ event: Stored<Event>) async throws {
        // People do not arrive all at once.
        try await wait(6 * pause)
        let phone = try await signIn(number)
        let place = Self.place(number)
        _ = try await measure("events near a place") { try await phone.events(near: place, within: .kilometers(5)) }
        _ = try await measure("events on a map") {
            try await phone.events(
                southWest: GeoPoint(latitude: place.latitude - 0.05, longitude: place.longitude - 0.05),
                northEast: GeoPoint(latitude: place.latitude + 0.05, longitude: place.longitude + 0.05))
        }
        _ = try await measure("people by radius and sport") {
            try await phone.people(near: place, within: .kilometers(5), liking: "tennis")
        }
        _ = try await measure("join") { try await phone.join(event) }
        for text in ["Hello", "See you there"] {
            _ = try await measure("say something") { try await phone.say(text, in: event) }
        }
        _ = try await measure("read the chat") {
            try await phone.martlet.storage.find(SportLook.messages(of: event))
        }
        _ = try await measure("invite") { try await phone.invite(event.creator, to: event) }
        _ = try await measure("read invitations") { try await phone.invitations() }
        _ = try await measure("leave") { try await phone.leave(event) }
    }

    private func signIn(_ number: Int) async throws -> SportLook {
        let martlet = app.phone(of: "Person \(number)") {
            $0.transport = transport
            $0.sessionStore = MemorySessionStore()
        }
        let phone = SportLook(martlet: martlet)
        if isFirst, number < Self.registeringCount {
            _ = try await measure("register") {
                try await phone.register(
                    email: Self.address(number), password: Self.password, profile: Self.profile(number))
            }
        } else {
            _ = try await measure("sign in") {
                try await martlet.users.signIn(with: .password(Self.password, email: Self.address(number)))
            }
        }
        return phone
    }

    private static func address(_ number: Int) -> String { "person\(number + 1)@example.org" }

    private static func profile(_ number: Int) -> Person {
        Person(name: "Person \(number)", place: place(number), sports: ["tennis"])
    }

    /// Waits for a random time of at most this many seconds.
    private func wait(_ seconds: TimeInterval) async throws {
        guard seconds > 0 else { return }
        try await Task.sleep(nanoseconds: UInt64(Double.random(in: 0...seconds) * 1e9))
    }

    private func measure<Answer>(_ call: String, _ work: () async throws -> Answer) async throws -> Answer {
        try await wait(2 * pause)
        let start = Date()
        let answer = try await work()
        await times.add(Date().timeIntervalSince(start), to: call)
        return answer
    }

    /// In and around Bern.
    private static func place(_ number: Int) -> GeoPoint {
        GeoPoint(
            latitude: 46.9 + Double(abs(number) % 10) / 100, longitude: 7.4 + Double(abs(number / 10) % 10) / 100)
    }
}

/// The durations of calls, by the names of the calls.
actor CallTimes {
    /// In seconds.
    private var times: [String: [TimeInterval]] = [:]

    var count: Int { times.values.reduce(0) { $0 + $1.count } }
    var longest: TimeInterval { times.values.joined().max() ?? 0 }

    func add(_ seconds: TimeInterval, to call: String) { times[call, default: []].append(seconds) }

    /// The calls whose 99th percentile is above this many seconds.
    func calls(slowerThan seconds: TimeInterval) -> [String] {
        times.filter { Self.percentile(0.99, of: $0.value.sorted()) > seconds }.keys.sorted()
    }

    /// A line for each call: how often, and in milliseconds the median, the 99th percentile and the longest.
    func table() -> [String] {
        let head = Self.row("call", ["count", "p50 ms", "p99 ms", "max ms"])
        return [head]
            + times.sorted { $0.key < $1.key }.map { call, times in
                let sorted = times.sorted()
                let shown = [0.5, 0.99, 1].map { "\(Int(1_000 * Self.percentile($0, of: sorted)))" }
                return Self.row(call, ["\(sorted.count)"] + shown)
            }
    }

    private static func percentile(_ share: Double, of sorted: [TimeInterval]) -> TimeInterval {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }

    private static func row(_ name: String, _ cells: [String]) -> String {
        cells.reduce(name.padding(toLength: 28, withPad: " ", startingAt: 0)) { line, cell in
            line + String(repeating: " ", count: max(1, 9 - cell.count)) + cell
        }
    }
}
