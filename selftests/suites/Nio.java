// SPDX-License-Identifier: GPL-2.0
//
// Sockets of Java's channels in each of the ways that the library has. Prints what came of
// each step, the same at each run.

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Random;

class Nio {
	static final InetAddress HOST = InetAddress.getLoopbackAddress();
	static final int SIZE = 3_000_000;

	static byte[] bytes(int seed, int size) {
		byte[] data = new byte[size];
		new Random(seed).nextBytes(data);
		return data;
	}

	static String sum(byte[] data) throws Exception {
		return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
	}

	// One thread and a selector echo everything on non-blocking channels until all have ended.
	static void echo(ServerSocketChannel listener, int connections) throws IOException {
		Selector selector = Selector.open();
		listener.configureBlocking(false);
		listener.register(selector, SelectionKey.OP_ACCEPT);
		while (connections > 0) {
			selector.select();
			for (Iterator<SelectionKey> i = selector.selectedKeys().iterator(); i.hasNext(); ) {
				SelectionKey key = i.next();
				i.remove();
				if (key.isAcceptable()) {
					SocketChannel channel = listener.accept();
					channel.configureBlocking(false);
					channel.register(selector, SelectionKey.OP_READ,
							 ByteBuffer.allocateDirect(50_000));
					continue;
				}
				SocketChannel channel = (SocketChannel)key.channel();
				ByteBuffer buffer = (ByteBuffer)key.attachment();
				if (key.isReadable() && channel.read(buffer) < 0) {
					key.cancel();
					channel.close();
					connections--;
					continue;
				}
				buffer.flip();
				channel.write(buffer);
				key.interestOps(buffer.hasRemaining() ? SelectionKey.OP_WRITE :
						SelectionKey.OP_READ);
				buffer.compact();
			}
		}
		selector.close();
		listener.close();
	}

	static Thread start(Body body) {
		Thread thread = new Thread(() -> {
			try {
				body.run();
			} catch (Exception e) {
				System.out.println("in a thread: " + e);
			}
		});
		thread.start();
		return thread;
	}

	interface Body {
		void run() throws Exception;
	}

	static void selector() throws Exception {
		ServerSocketChannel listener = ServerSocketChannel.open();
		listener.bind(new InetSocketAddress(HOST, 0));
		Thread server = start(() -> echo(listener, 4));
		Thread[] clients = new Thread[4];
		String[] results = new String[4];
		for (int n = 0; n < 4; n++) {
			int seed = n;
			SocketChannel channel = SocketChannel.open(listener.getLocalAddress());
			clients[n] = start(() -> {
				byte[] data = bytes(seed, SIZE);
				Thread writer = start(() -> {
					ByteBuffer[] parts = { ByteBuffer.wrap(data, 0, 1000),
							       ByteBuffer.wrap(data, 1000, SIZE - 1000) };
					while (parts[1].hasRemaining())
						channel.write(parts);
				});
				ByteBuffer back = ByteBuffer.allocate(SIZE);
				while (back.hasRemaining() && channel.read(back) >= 0)
					;
				writer.join();
				channel.close();
				results[seed] = sum(back.array()).equals(sum(data)) ? "same" : "differs";
			});
		}
		for (Thread client : clients)
			client.join();
		server.join();
		System.out.println("selector: " + String.join(" ", results));
	}

	static void transfer() throws Exception {
		Path file = Files.createTempFile("nio", "");
		byte[] data = bytes(5, SIZE);
		Files.write(file, data);
		ServerSocketChannel listener = ServerSocketChannel.open();
		listener.bind(new InetSocketAddress(HOST, 0));
		SocketChannel client = SocketChannel.open(listener.getLocalAddress());
		SocketChannel server = listener.accept();
		Thread sender = start(() -> {
			try (FileChannel from = FileChannel.open(file)) {
				for (long at = 0; at < SIZE; )
					at += from.transferTo(at, SIZE - at, server);
			}
			server.shutdownOutput();
		});
		byte[] got = client.socket().getInputStream().readAllBytes();
		sender.join();
		System.out.println("transferTo, half closed: " + sum(got).equals(sum(data)));
		client.write(ByteBuffer.wrap(bytes(6, 1000)));
		client.close();
		System.out.println("the other half: " +
			sum(server.socket().getInputStream().readAllBytes()).equals(sum(bytes(6, 1000))));
		server.close();
		listener.close();
		Files.delete(file);
	}

	static void asynchronous() throws Exception {
		AsynchronousServerSocketChannel listener = AsynchronousServerSocketChannel.open();
		listener.bind(new InetSocketAddress(HOST, 0));
		AsynchronousSocketChannel client = AsynchronousSocketChannel.open();
		var accepted = listener.accept();
		client.connect(listener.getLocalAddress()).get();
		AsynchronousSocketChannel server = accepted.get();
		int same = 0;
		for (int n = 1; n < 200; n++) {
			byte[] data = bytes(n, n * 50);
			ByteBuffer out = ByteBuffer.wrap(data), in = ByteBuffer.allocate(n * 50);
			var reading = server.read(in);
			while (out.hasRemaining())
				client.write(out).get();
			reading.get();
			while (in.hasRemaining())
				server.read(in).get();
			if (sum(in.array()).equals(sum(data)))
				same++;
		}
		client.close();
		System.out.println("asynchronous: " + same + ", then " +
				   server.read(ByteBuffer.allocate(1)).get());
		server.close();
		listener.close();
	}

	static void old() throws Exception {
		try (ServerSocket listener = new ServerSocket(0, 5, HOST);
		     Socket client = new Socket(HOST, listener.getLocalPort());
		     Socket server = listener.accept()) {
			InputStream in = server.getInputStream();
			OutputStream out = client.getOutputStream();
			int same = 0;
			for (int n = 0; n < 300; n++) {
				byte[] data = bytes(n, 1 + n * 7);
				out.write(data);
				same += sum(in.readNBytes(data.length)).equals(sum(data)) ? 1 : 0;
			}
			System.out.println("Socket: " + same + ", then available " + in.available());
			server.setSoTimeout(50);
			try {
				in.read();
			} catch (SocketTimeoutException e) {
				System.out.println("time-out: " + e.getMessage());
			}
			server.setSoTimeout(0);
			Thread closer = start(() -> {
				Thread.sleep(100);
				server.close();
			});
			try {
				in.read();
			} catch (IOException e) {
				System.out.println("closed meanwhile: " + e.getMessage());
			}
			closer.join();
			client.setSoLinger(true, 0);
		}
	}

	static void interrupted() throws Exception {
		ServerSocketChannel listener = ServerSocketChannel.open();
		listener.bind(new InetSocketAddress(HOST, 0));
		SocketChannel client = SocketChannel.open(listener.getLocalAddress());
		SocketChannel server = listener.accept();
		Thread reader = start(() -> {
			ByteBuffer buffer = ByteBuffer.allocate(100);
			int got = 0;
			while (got < 100 * 100) {
				buffer.clear();
				got += server.read(buffer);
			}
			buffer.clear();
			server.read(buffer);
		});
		for (int n = 0; n < 100; n++)
			client.write(ByteBuffer.wrap(bytes(n, 100)));
		Thread.sleep(200);
		reader.interrupt();
		reader.join();
		System.out.println("open after the interrupt: " + server.isOpen());
		System.out.println("its peer reads " + client.read(ByteBuffer.allocate(1)));
		client.close();
		listener.close();
	}

	public static void main(String[] args) throws Exception {
		selector();
		transfer();
		asynchronous();
		old();
		interrupted();
	}
}
