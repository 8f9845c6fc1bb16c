import CCurl
import Glibc
import MartletCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// Sends mail with libcurl, on its own threads, because libcurl blocks.
public final class SMTPClient: Service {
    private let pool: NIOThreadPool
    private let semaphore: AsyncSemaphore

    /// - Parameters:
    ///   - concurrency: The number of messages sent at once, each on its own connection.
    ///   - maximumWaiting: How many more may wait; beyond that, `send` throws `unreachable`.
    public init(concurrency: Int = 4, maximumWaiting: Int = 64) {
        pool = NIOThreadPool(numberOfThreads: concurrency)
        semaphore = AsyncSemaphore(
            limit: concurrency, maximumWaiting: maximumWaiting,
            refusal: SMTPError.unreachable(cause: "too many messages are waiting"))
    }

    public func run() async throws {
        pool.start()
        try? await gracefulShutdown()
        try await pool.shutdownGracefully()
    }

    /// - Throws: `SMTPError`; `cancelled` within a second after the task is cancelled.
    public func send(_ message: MailMessage, by server: SMTPServer) async throws {
        let transfer = SMTPTransfer(message, server)
        try await withTaskCancellationHandler {
            try await semaphore.withPermit { try await pool.runIfActive { try transfer.run() } }
        } onCancel: {
            transfer.isCancelled.store(true, ordering: .relaxed)
        }
    }
}

/// The transfer of one message. `run` is called once, on one thread.
private final class SMTPTransfer: Sendable {
    private struct Reading {
        var rest: ArraySlice<UInt8>
        /// The latest line in which the server refused something.
        var refusal: [UInt8] = []
    }

    private static let maximumLineLength = 512

    private static let isInitialized = martlet_curl_initialize() == CURLE_OK

    let isCancelled = Atomic(false)
    private let server: SMTPServer
    private let sender: String
    private let recipient: String
    private let reading: Mutex<Reading>

    init(_ message: MailMessage, _ server: SMTPServer) {
        self.server = server
        sender = (message.bounces ?? message.from).address
        recipient = message.to.address
        reading = Mutex(Reading(rest: message.bytes()[...]))
    }

    func run() throws {
        guard Self.isInitialized, let handle = curl_easy_init() else {
            throw SMTPError.unreachable(cause: "libcurl could not be initialized")
        }
        defer { curl_easy_cleanup(handle) }
        let recipients = curl_slist_append(nil, recipient)
        defer { curl_slist_free_all(recipients) }

        let scheme = server.security == .tls ? "smtps" : "smtp"
        var options = Options(handle: handle)
        options.set(CURLOPT_URL, "\(scheme)://\(server.host):\(server.port)")
        // Allow no other protocol, and ignore proxies from the environment.
        options.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        options.set(CURLOPT_PROXY, "")
        options.set(CURLOPT_USE_SSL, Int(server.security == .off ? CURLUSESSL_NONE.rawValue : CURLUSESSL_ALL.rawValue))
        options.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = server.certificatesFile { options.set(CURLOPT_CAINFO, file) }
        if let user = server.user {
            options.set(CURLOPT_USERNAME, user)
            server.password?.withValue { options.set(CURLOPT_PASSWORD, $0) }
        }
        options.set(CURLOPT_CONNECTTIMEOUT, server.connectTimeoutInSeconds)
        options.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, server.timeoutInSeconds)
        options.set(CURLOPT_TIMEOUT, server.timeoutInSeconds)
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_UPLOAD, 1)
        options.set(CURLOPT_MAIL_FROM, "<\(sender)>")
        options.add(martlet_curl_set_list(handle, CURLOPT_MAIL_RCPT, recipients))

        let pointer = Unmanaged.passUnretained(self).toOpaque()
        options.add(martlet_curl_set_pointer(handle, CURLOPT_READDATA, pointer))
        options.add(
            martlet_curl_set_read(handle) { SMTPTransfer.at($3)?.read(into: $0, $1 * $2) ?? Int(CURL_READFUNC_ABORT) })
        options.add(martlet_curl_set_pointer(handle, CURLOPT_HEADERDATA, pointer))
        options.add(
            martlet_curl_set_header(handle) {
                SMTPTransfer.at($3)?.record(line: $0, $1 * $2)
                return $1 * $2
            })
        options.set(CURLOPT_NOPROGRESS, 0)
        options.add(martlet_curl_set_pointer(handle, CURLOPT_XFERINFODATA, pointer))
        options.add(
            martlet_curl_set_progress(handle) { pointer, _, _, _, _ in
                SMTPTransfer.at(pointer)?.isCancelled.load(ordering: .relaxed) == false ? 0 : 1
            })
        if !server.isPrivateAddressAllowed {
            // Checks the address of each connection. A check of the host name beforehand would miss a changed DNS
            // answer.
            options.add(
                martlet_curl_set_open_socket(handle) { _, _, address in SMTPTransfer.openPublicSocket(address) })
        }
        guard options.areSet else { throw SMTPError.unreachable(cause: "libcurl refused a setting") }
        let result = curl_easy_perform(handle)
        guard result != CURLE_OK else { return }
        throw error(result, handle)
    }

    private func error(_ result: CURLcode, _ handle: UnsafeMutableRawPointer) -> SMTPError {
        var status = 0
        martlet_curl_response_code(handle, &status)
        // The codes that libcurl returns when the server answered with a failure status.
        let isAnswer = [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_WEIRD_SERVER_REPLY, CURLE_REMOTE_ACCESS_DENIED]
            .contains(result)
        return switch result {
        case CURLE_ABORTED_BY_CALLBACK: .cancelled
        case CURLE_LOGIN_DENIED: .notAuthenticated
        case CURLE_USE_SSL_FAILED, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM:
            .notSecure
        case _ where isAnswer && (400...599).contains(status):
            reading.withLock { EnhancedStatus($0.refusal)?.meansNoMailbox == true }
                ? .noMailbox(status: status) : .refused(status: status)
        default: .unreachable(cause: String(cString: curl_easy_strerror(result)))
        }
    }

    private static func at(_ pointer: UnsafeMutableRawPointer?) -> SMTPTransfer? {
        pointer.map { Unmanaged<SMTPTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Remembers a reply line of the server if it is a refusal.
    private func record(line: UnsafeMutablePointer<CChar>?, _ count: Int) {
        guard let line else { return }
        let bytes = UnsafeRawBufferPointer(start: line, count: min(count, Self.maximumLineLength))
        guard bytes.first == UInt8(ascii: "4") || bytes.first == UInt8(ascii: "5") else { return }
        reading.withLock { $0.refusal = Array(bytes) }
    }

    private func read(into buffer: UnsafeMutablePointer<CChar>?, _ space: Int) -> Int {
        guard let buffer else { return 0 }
        return reading.withLock { reading in
            let portion = reading.rest.prefix(space)
            portion.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: buffer, count: space).copyMemory(from: $0) }
            reading.rest = reading.rest.dropFirst(portion.count)
            return portion.count
        }
    }

    private static func openPublicSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let address else { return martlet_curl_bad_socket }
        // libcurl allocates room for the longest address, although the declared type is shorter.
        let start = UnsafeRawPointer(address) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
        let bytes: [UInt8] =
            switch address.pointee.family {
            case AF_INET: withUnsafeBytes(of: start.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
            case AF_INET6: withUnsafeBytes(of: start.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
            default: []
            }
        guard PublicAddress.contains(bytes) else { return martlet_curl_bad_socket }
        return socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    }
}

/// Sets the options of a transfer and remembers whether libcurl refused any.
private struct Options {
    let handle: UnsafeMutableRawPointer
    private(set) var areSet = true

    init(handle: UnsafeMutableRawPointer) {
        self.handle = handle
    }

    mutating func set(_ option: CURLoption, _ value: String) { add(martlet_curl_set_string(handle, option, value)) }

    mutating func set(_ option: CURLoption, _ value: Int) { add(martlet_curl_set_long(handle, option, value)) }

    mutating func add(_ result: CURLcode) { areSet = areSet && result == CURLE_OK }
}
